import type { RecordedEvent, TaskRow } from '@custody/ledger';
import {
  fieldOrigins,
  isJsonObject,
  isTerminalStatus,
  LIVE_ENVELOPE_KEYS,
  LIVE_KEYS,
  parseRawObject,
  textsOf,
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
  /** False for a field that a heal would change: then `because` names what wrote it, not what the log says. */
  readonly current: boolean;
  /** Empty for what the orchestrator wrote without recording an event. */
  readonly because: readonly Reason[];
}

const ENVELOPE = 'subagent_envelope';
const EXECUTION_FIELDS: ReadonlySet<string> = new Set(['actual_substrate', 'execution_evidence']);

/** What the fields of a row are explained from. */
export interface Explanations {
  readonly deciding: DecidingEvents;
  /** Everything recorded of the task. */
  readonly events: readonly RecordedEvent[];
  /** Fields that a heal would change. */
  readonly untrue: ReadonlySet<string>;
}

/** The fields of a row in its order, those of its envelope one by one. */
export function explainedFields(
  row: TaskRow,
  { deciding, events, untrue }: Explanations,
): readonly ExplainedField[] {
  const isTerminal = isTerminalStatus(row.status);
  const origins = fieldOrigins(row.task_id, events);
  const bySeq = new Map(events.map((event) => [event.seq, event]));
  const explain = (path: readonly string[], raw: string): ExplainedField => {
    const origin = path.length === 1 ? origins.get(path[0] ?? '') : undefined;
    const source = origin === undefined ? undefined : bySeq.get(origin.seq);
    if (origin !== undefined && source !== undefined)
      return {
        field: path.join('.'),
        raw,
        frozen: origin.frozen,
        current: true,
        because: [toReason(source)],
      };
    return explainOwn(path, raw);
  };
  const explainOwn = (path: readonly string[], raw: string): ExplainedField => {
    const field = path.join('.');
    const name = path.at(-1) ?? '';
    const isLive = (path.length === 1 ? LIVE_KEYS : LIVE_ENVELOPE_KEYS).includes(name);
    const isCurrent = !isLive || !untrue.has(field);
    const reasons = isLive && isCurrent ? liveReasons(name, deciding) : writtenBy(name, isLive, events);
    return {
      field,
      raw,
      frozen: isTerminal && !isLive,
      current: isCurrent,
      because: reasons.map(toReason),
    };
  };
  return [...row.raw].flatMap(([name, raw]) => {
    if (name !== ENVELOPE || !isJsonObject(row.value[ENVELOPE])) return [explain([name], raw)];
    return [...parseRawObject(raw)].map(([inner, text]) => explain([ENVELOPE, inner], text));
  });
}

/** The newest event that tells of a write of the field; none for what nobody recorded. */
function writtenBy(
  name: string,
  isLive: boolean,
  events: readonly RecordedEvent[],
): readonly RecordedEvent[] {
  const writes = events.filter((event) => event.type === 'task.recorded' && Object.hasOwn(event, name));
  const heals = isLive ? healsOf(name, events) : [];
  return [...writes, ...heals].sort((a, b) => a.seq - b.seq).slice(-1);
}

/** The heals that wrote a live field; those that tell nothing of it wrote the list. */
function healsOf(name: string, events: readonly RecordedEvent[]): readonly RecordedEvent[] {
  return events.filter((event) => {
    if (event.type !== 'custody.reconciled' && event.type !== 'custody.unreconciled') return false;
    const changed = textsOf(event['changed']);
    return changed.includes(name) || (changed.length === 0 && name === 'delegated_runs_unreconciled');
  });
}

function liveReasons(name: string, { custody, evidence }: DecidingEvents): readonly RecordedEvent[] {
  return EXECUTION_FIELDS.has(name) ? evidence : custody;
}

function toReason({ seq, type, at }: RecordedEvent): Reason {
  return { seq, type, at };
}
