import type { Ledger, TaskRow } from '@custody/ledger';
import {
  isJsonObject,
  isTerminalStatus,
  LIVE_ENVELOPE_KEYS,
  LIVE_KEYS,
  parseRawObject,
} from '@custody/ledger';
import { onOneLine } from '../output/compact-json.ts';

/** The exact texts of everything frozen in every terminal row, by task and field. */
export type FrozenFields = ReadonlyMap<string, string>;

const ENVELOPE = 'subagent_envelope';

/** Reads what must never change. */
export async function readFrozenFields(ledger: Ledger): Promise<FrozenFields> {
  const fields = new Map<string, string>();
  for await (const { row } of ledger.rows.list({})) {
    if (!isTerminalStatus(row.status)) continue;
    for (const [field, text] of frozenOf(row)) fields.set(`${row.task_id} ${field}`, onOneLine(text));
  }
  return fields;
}

function frozenOf(row: TaskRow): readonly (readonly [field: string, text: string])[] {
  return [...row.raw].flatMap(([name, text]): (readonly [string, string])[] => {
    if (LIVE_KEYS.includes(name)) return [];
    if (name !== ENVELOPE || !isJsonObject(row.value[ENVELOPE])) return [[name, text]];
    const inner = [...parseRawObject(text)].filter(([key]) => !LIVE_ENVELOPE_KEYS.includes(key));
    return inner.map(([key, value]) => [`${ENVELOPE}.${key}`, value]);
  });
}

/** The fields whose text is no longer the same, or that are gone. */
export function changedFields(before: FrozenFields, after: FrozenFields): readonly string[] {
  return [...before].filter(([field, text]) => after.get(field) !== text).map(([field]) => field);
}
