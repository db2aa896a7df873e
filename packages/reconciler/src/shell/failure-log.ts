import type { StateStore } from '@custody/ledger';
import type { FailureLog } from '../core/parked.ts';
import { countFailures, parseFailures, toFailureDocument } from '../core/parked.ts';

const DOCUMENT = 'failures';

/** The failures that earlier passes counted. */
export async function loadFailures(state: Pick<StateStore, 'load'>): Promise<FailureLog> {
  return parseFailures(await state.load(DOCUMENT));
}

/** Adds what a pass saw; writes nothing when nothing failed before or now. */
export async function recordFailures(
  state: StateStore,
  pass: {
    readonly tried: readonly string[];
    readonly failed: readonly { readonly task_id: string; readonly error: string }[];
    readonly now: string;
  },
): Promise<FailureLog> {
  const known = await loadFailures(state);
  const next = countFailures(known, pass);
  const isSame = known.size === next.size && pass.failed.length === 0;
  if (!isSame) await state.save(DOCUMENT, toFailureDocument(next));
  return next;
}
