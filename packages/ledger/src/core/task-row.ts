import { InvalidRowError } from '../errors.ts';
import { isId } from './ids.ts';
import type { JsonObject } from './json.ts';
import { isJsonObject, textOf } from './json.ts';
import type { RawObject } from './raw-json.ts';
import { isSameRaw, parseRawObject, printCompact, printRawObject, toRaw } from './raw-json.ts';
import type { ExecutionEvidence, Substrate } from './run-evidence.ts';

/** A task's row: one JSON document, most of it the orchestrator's own. */
export interface TaskRow {
  readonly task_id: string;
  readonly status: string;
  /** The document as JSON values, for reading. Numbers that fit no double are rounded here; `raw` has them exactly. */
  readonly value: JsonObject;
  /** The document as exact texts; what is written back comes from here. */
  readonly raw: RawObject;
}

/** The reconciler's fields. Every field that is absent here is frozen from the first terminal write on. */
export interface LiveFields {
  readonly delegated_runs_unreconciled?: readonly string[];
  readonly delegate_terminal_reconciliation?: JsonObject;
  readonly execution?: { readonly evidence: ExecutionEvidence; readonly substrate: Substrate };
}

/** The version stamp of row documents that this ledger reads and writes. */
export const ROW_SCHEMA_VERSION = 1;

const TERMINAL: ReadonlySet<string> = new Set(['completed', 'failed', 'cancelled', 'rejected_duplicate']);

const RANKS: Readonly<Record<string, number>> = {
  requested: 0,
  scheduled: 1,
  running: 2,
  interrupted: 2,
  cancel_requested: 3,
  completed: 4,
  failed: 4,
  cancelled: 4,
  rejected_duplicate: 4,
};

/** Top-level keys that only the reconciler changes. */
export const LIVE_KEYS: readonly string[] = [
  'delegated_runs_unreconciled',
  'delegate_terminal_reconciliation',
  'actual_substrate',
];

/** Keys inside `subagent_envelope` that only the reconciler changes. */
export const LIVE_ENVELOPE_KEYS: readonly string[] = ['execution_evidence', 'actual_substrate'];

const ENVELOPE = 'subagent_envelope';

/** True for a status that a task can't leave. */
export function isTerminalStatus(status: string): boolean {
  return TERMINAL.has(status);
}

/**
 * Reads a row document.
 *
 * @throws InvalidRowError if the text is no JSON object, has a foreign `_schema_version`, or lacks what a row needs.
 */
export function parseTaskRow(text: string, taskId?: string): TaskRow {
  let raw: RawObject;
  try {
    raw = parseRawObject(text);
  } catch (cause) {
    throw new InvalidRowError('the row is not a JSON object', {
      hint: 'Repair the document; it was left as it is.',
      facts: { task_id: taskId ?? null },
      cause,
    });
  }
  return toTaskRow(raw, taskId);
}

/** Builds a row from exact texts; see {@link parseTaskRow}. */
export function toTaskRow(raw: RawObject, knownId?: string): TaskRow {
  const value = JSON.parse(printCompact(raw)) as JsonObject;
  const version = value['_schema_version'];
  if (version !== undefined && version !== ROW_SCHEMA_VERSION) {
    throw new InvalidRowError(
      `the row has _schema_version ${JSON.stringify(version)}, this ledger knows ${ROW_SCHEMA_VERSION}`,
      {
        hint: 'A newer program wrote it; it was left as it is.',
        facts: { task_id: knownId ?? null, field: '_schema_version' },
      },
    );
  }
  const taskId = knownId ?? value['task_id'];
  if (!isId(taskId)) {
    throw new InvalidRowError(
      'task_id must be a string of 1 to 128 characters: letters, digits and _ . : -',
      {
        hint: 'Give every row its task_id.',
        facts: { field: 'task_id' },
      },
    );
  }
  return { task_id: taskId, status: textOf(value, 'status'), value, raw };
}

/** No field at all. */
export const NO_KEYS: ReadonlySet<string> = new Set();

/** What became of a write of a row by its orchestrator. */
export type RowMerge =
  | { readonly outcome: 'written'; readonly row: TaskRow }
  | { readonly outcome: 'unchanged' }
  /** The row is terminal (or about to be cancelled) and these fields would change. */
  | { readonly outcome: 'refused'; readonly fields: readonly string[] };

/**
 * The terminal write guard (docs/contracts/custody.md, 4.6): old fields, then new ones. A terminal row takes
 * only its own status and fields that it did not have. Live fields that the row has stay the reconciler's:
 * an old copy written back never undoes a heal. `owned` are fields that the writer may not change at all.
 */
export function mergeRow(
  existing: TaskRow | null,
  incoming: TaskRow,
  now: string,
  owned: ReadonlySet<string> = NO_KEYS,
): RowMerge {
  if (existing === null) return { outcome: 'written', row: stamped(incoming, now) };
  const isTerminal = isTerminalStatus(existing.status);
  const lowersRank = existing.status === 'cancel_requested' && (RANKS[incoming.status] ?? 3) < 3;
  if (lowersRank) return { outcome: 'refused', fields: ['status'] };
  const merged = new Map(existing.raw);
  const refused: string[] = [];
  let isChanged = false;
  for (const [key, raw] of incoming.raw) {
    const effect = effectOf(existing, incoming, { key, isTerminal: isTerminal || owned.has(key) });
    if (effect === 'refused') refused.push(key);
    if (effect !== 'changed') continue;
    isChanged = true;
    merged.set(key, raw);
  }
  if (refused.length > 0) return { outcome: 'refused', fields: refused };
  if (!isChanged) return { outcome: 'unchanged' };
  if (!isTerminal) merged.set('updated_at', JSON.stringify(now));
  return { outcome: 'written', row: toTaskRow(merged, existing.task_id) };
}

function effectOf(
  existing: TaskRow,
  incoming: TaskRow,
  { key, isTerminal }: { readonly key: string; readonly isTerminal: boolean },
): 'changed' | 'kept' | 'refused' {
  if (key === 'updated_at' || key === 'ts') return existing.raw.has(key) ? 'kept' : 'changed';
  if (!existing.raw.has(key)) return 'changed';
  if (existing.raw.get(key) === incoming.raw.get(key)) return 'kept';
  if (!isTerminal) return isSameRaw(existing.raw.get(key), incoming.raw.get(key)) ? 'kept' : 'changed';
  if (LIVE_KEYS.includes(key)) return 'kept';
  return isSameRaw(frozenPart(key, existing.raw.get(key)), frozenPart(key, incoming.raw.get(key)))
    ? 'kept'
    : 'refused';
}

/** What of a field is frozen: of the envelope all but the reconciler's keys. */
function frozenPart(key: string, text: string | undefined): string | undefined {
  if (key !== ENVELOPE || text === undefined || !isJsonObject(JSON.parse(text))) return text;
  return printCompact(
    new Map([...parseRawObject(text)].filter(([name]) => !LIVE_ENVELOPE_KEYS.includes(name))),
  );
}

/** A first write: the times are the ledger's where the orchestrator gave none. */
function stamped(row: TaskRow, now: string): TaskRow {
  const raw = new Map(row.raw);
  raw.set('task_id', JSON.stringify(row.task_id));
  if (!raw.has('ts')) raw.set('ts', JSON.stringify(now));
  if (!raw.has('updated_at')) raw.set('updated_at', JSON.stringify(now));
  return toTaskRow(raw, row.task_id);
}

/** The document as it is shown: under the id by which the row is kept, also when the document names none or another. */
export function printTaskRow(row: TaskRow): string {
  return printRawObject(new Map([...row.raw, ['task_id', JSON.stringify(row.task_id)]]));
}

/** The row with its live fields replaced; every other value keeps its exact text. */
export function withLiveFields(row: TaskRow, live: LiveFields): TaskRow {
  const raw = new Map(row.raw);
  if (live.delegated_runs_unreconciled !== undefined)
    raw.set('delegated_runs_unreconciled', toRaw(live.delegated_runs_unreconciled));
  if (live.delegate_terminal_reconciliation !== undefined) {
    raw.set('delegate_terminal_reconciliation', toRaw(live.delegate_terminal_reconciliation));
  }
  if (live.execution !== undefined) {
    raw.set('actual_substrate', JSON.stringify(live.execution.substrate));
    const envelope = envelopeWith(raw.get(ENVELOPE), live.execution);
    if (envelope !== null) raw.set(ENVELOPE, envelope);
  }
  return toTaskRow(raw, row.task_id);
}

/** The envelope's text with new evidence; null when the row keeps something there that is no envelope. */
function envelopeWith(
  text: string | undefined,
  execution: NonNullable<LiveFields['execution']>,
): string | null {
  const current: unknown = text === undefined ? null : JSON.parse(text);
  if (current !== null && !isJsonObject(current)) return null;
  const raw = new Map(current === null ? [] : parseRawObject(text ?? '{}'));
  raw.set('actual_substrate', JSON.stringify(execution.substrate));
  raw.set('execution_evidence', toRaw(execution.evidence, 2));
  return `{\n${[...raw].map(([key, item]) => `    ${JSON.stringify(key)}: ${item}`).join(',\n')}\n  }`;
}

/** The parts of a row on a SQL store, each a JSON text. */
export interface RowParts {
  /** What the row was at its terminal write; the database refuses to change it from then on. */
  readonly frozen: string;
  /** Fields that the row got after its terminal write. */
  readonly added: string;
  /** The reconciler's fields. */
  readonly live: string;
}

/** Splits a row. `before` are the parts of the same row if it is terminal already: its frozen text is kept as it is. */
export function splitRow(row: TaskRow, before: RowParts | null = null): RowParts {
  const rest = new Map<string, string>();
  const live = new Map<string, string>();
  for (const [key, raw] of row.raw) {
    if (LIVE_KEYS.includes(key)) live.set(key, raw);
    else if (key === ENVELOPE && isJsonObject(row.value[ENVELOPE])) splitEnvelope(raw, rest, live);
    else rest.set(key, raw);
  }
  if (before === null) return { frozen: printCompact(rest), added: '{}', live: printCompact(live) };
  for (const key of parseRawObject(before.frozen).keys()) rest.delete(key);
  return { frozen: before.frozen, added: printCompact(rest), live: printCompact(live) };
}

function splitEnvelope(text: string, rest: Map<string, string>, live: Map<string, string>): void {
  const entries = [...parseRawObject(text)];
  const isLive = ([key]: [string, string]) => LIVE_ENVELOPE_KEYS.includes(key);
  const frozen = entries.filter((entry) => !isLive(entry));
  if (frozen.length > 0 || !entries.some(isLive)) rest.set(ENVELOPE, printCompact(new Map(frozen)));
  if (entries.some(isLive)) live.set(ENVELOPE, printCompact(new Map(entries.filter(isLive))));
}

/**
 * Puts the parts together again; the inverse of {@link splitRow} but for the order of keys.
 *
 * @throws InvalidRowError if a part is no JSON object any more.
 */
export function joinRow(parts: RowParts, taskId: string): TaskRow {
  try {
    return joined(parts, taskId);
  } catch (cause) {
    if (!(cause instanceof SyntaxError)) throw cause;
    throw new InvalidRowError(`the stored row of ${taskId} is no JSON object any more`, {
      hint: 'Somebody changed it behind the ledger; restore it from a backup. It was left as it is.',
      facts: { task_id: taskId },
      cause,
    });
  }
}

function joined(parts: RowParts, taskId: string): TaskRow {
  const raw = new Map([...parseRawObject(parts.frozen), ...parseRawObject(parts.added)]);
  for (const [key, item] of parseRawObject(parts.live)) {
    const envelope = key === ENVELOPE ? raw.get(ENVELOPE) : undefined;
    raw.set(
      key,
      envelope === undefined
        ? item
        : printCompact(new Map([...parseRawObject(envelope), ...parseRawObject(item)])),
    );
  }
  return toTaskRow(raw, taskId);
}
