import type { JsonObject, JsonValue, RecordedEvent } from '@custody/ledger';
import { isJsonObject, textOf, textsOf } from '@custody/ledger';

/** One change that the reconciler made to a row. */
export interface HealRecord {
  readonly seq: number;
  readonly at: string;
  readonly trigger: string;
  /** The changed fields as they were; null when the event does not tell. */
  readonly before: JsonObject | null;
  readonly after: JsonObject;
}

const LIST = 'delegated_runs_unreconciled';
/** Repeats the list and its parts; the row has it in full. */
const ENVELOPE = 'delegate_terminal_reconciliation';

/** The heals of a row, oldest first. `row` tells what the newest left behind. */
export function healHistory(row: JsonObject, events: readonly RecordedEvent[]): readonly HealRecord[] {
  const heals = events.filter(
    (event) => event.type === 'custody.reconciled' || event.type === 'custody.unreconciled',
  );
  return heals.map((event, index) => ({
    seq: event.seq,
    at: event.at,
    trigger: textOf(event, 'trigger'),
    before: isJsonObject(event['was']) ? event['was'] : null,
    after: afterOf(event, { later: heals.slice(index + 1), row }),
  }));
}

function afterOf(
  event: RecordedEvent,
  state: { readonly later: readonly RecordedEvent[]; readonly row: JsonObject },
): JsonObject {
  const named = textsOf(event['changed']);
  const changed = named.length === 0 ? [LIST] : named;
  return Object.fromEntries(
    changed
      .filter((field) => field !== ENVELOPE)
      .map((field) => [field, field === LIST ? textsOf(event['run_ids']) : leftBehind(field, state)]),
  );
}

/** An event says how a field was before it, so the next event that changed the field says what this one left. */
function leftBehind(
  field: string,
  { later, row }: { readonly later: readonly RecordedEvent[]; readonly row: JsonObject },
): JsonValue {
  for (const event of later) {
    const was = event['was'];
    if (isJsonObject(was) && Object.hasOwn(was, field)) return was[field] ?? null;
  }
  if (field !== 'execution_evidence') return row[field] ?? null;
  const envelope = row['subagent_envelope'];
  return isJsonObject(envelope) ? (envelope[field] ?? null) : null;
}
