import type { RecordedEvent, TaskRow } from '@custody/ledger';
import {
  fieldOrigins,
  isJsonObject,
  isTerminalStatus,
  LIVE_ENVELOPE_KEYS,
  LIVE_KEYS,
  parseRawObject,
} from '@custody/ledger';
import type { DecidingEvents } from './deciding-events.ts';

/** An event that a field rests on. */
interface Reason {
  readonly seq: number;
  readonly type: string;
  readonly at: string;
}

/** One field of a row, and why it says what it says. */
export interface ExplainedField {
  /** Name of the field; a dot leads into `subagent_envelope`. */
  readonly field: string;
  /** The value's exact JSON text. */
  readonly raw: string;
  /** True if nothing changes it any more. */
  readonly frozen: boolean;
  /** Empty for what the orchestrator wrote without recording an event. */
  readonly because: readonly Reason[];
}

const ENVELOPE = 'subagent_envelope';
const EXECUTION_FIELDS: ReadonlySet<string> = new Set(['actual_substrate', 'execution_evidence']);

/** The fields of a row in its order, those of its envelope one by one. */
export function explainedFields(
  row: TaskRow,
  deciding: DecidingEvents,
  events: readonly RecordedEvent[],
): readonly ExplainedField[] {
  const isTerminal = isTerminalStatus(row.status);
  const writes = events.filter((event) => event.type === 'task.recorded');
  const origins = fieldOrigins(row.task_id, events);
  const bySeq = new Map(events.map((event) => [event.seq, event]));
  const explain = (path: readonly string[], raw: string): ExplainedField => {
    const origin = path.length === 1 ? origins.get(path[0] ?? '') : undefined;
    const source = origin === undefined ? undefined : bySeq.get(origin.seq);
    if (origin !== undefined && source !== undefined)
      return { field: path.join('.'), raw, frozen: origin.frozen, because: [toReason(source)] };
    const name = path.at(-1) ?? '';
    const isLive = (path.length === 1 ? LIVE_KEYS : LIVE_ENVELOPE_KEYS).includes(name);
    const reasons = isLive
      ? liveReasons(name, deciding)
      : writes.filter((event) => Object.hasOwn(event, name)).slice(-1);
    return { field: path.join('.'), raw, frozen: isTerminal && !isLive, because: reasons.map(toReason) };
  };
  return [...row.raw].flatMap(([name, raw]) => {
    if (name !== ENVELOPE || !isJsonObject(row.value[ENVELOPE])) return [explain([name], raw)];
    return [...parseRawObject(raw)].map(([inner, text]) => explain([ENVELOPE, inner], text));
  });
}

function liveReasons(name: string, { custody, evidence }: DecidingEvents): readonly RecordedEvent[] {
  return EXECUTION_FIELDS.has(name) ? evidence : custody;
}

function toReason({ seq, type, at }: RecordedEvent): Reason {
  return { seq, type, at };
}
