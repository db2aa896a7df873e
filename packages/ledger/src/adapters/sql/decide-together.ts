import type { Decision } from '../../core/managed/decision.ts';
import type { ManagedFold } from '../../core/managed/managed-fold.ts';
import type { ManagedScope, ScopeRequest } from '../../core/managed/scope.ts';
import { parseNewEvent } from '../../core/parse-event.ts';
import type { NewEvent } from '../../core/recorded-event.ts';
import { InvalidEventError } from '../../errors.ts';
import type { NewId } from '../../ports/clock.ts';
import type { AppendOutcome } from '../../ports/event-store.ts';
import type { Decided } from '../../ports/managed-store.ts';
import { countUnrelated, PendingChanges } from './pending-changes.ts';
import { appendInTransaction } from './sql-event-store.ts';
import { saveLeases } from './sql-managed-fold.ts';
import { loadScopes } from './sql-managed-scope.ts';
import type { SqlContext } from './tables.ts';
import type { WriteTurn } from './write-transaction.ts';

/** A decision that waits for the write lock. */
export interface PendingDecision {
  readonly request: ScopeRequest;
  readonly decision: (scope: ManagedScope) => Decision;
}

/** What became of one decision of a transaction. */
export type DecisionOutcome = { readonly decided: Decided } | { readonly error: InvalidEventError };

type Accepted = Decision & { readonly kind: 'accepted' };

/** A decision that was made; its events are not written yet. */
type Made =
  | { readonly kind: 'over'; readonly outcome: DecisionOutcome }
  | {
      readonly kind: 'accepted';
      readonly scope: ManagedScope;
      readonly decision: Accepted;
      readonly events: readonly NewEvent[];
    };

/**
 * Makes decisions one after the other, each of what those before it wrote, and writes them with as few statements as
 * that allows: neighbours that have nothing to do with each other are loaded, and written, together.
 */
export async function decideTogether(
  turn: WriteTurn,
  context: SqlContext,
  { pending, newId }: { readonly pending: readonly PendingDecision[]; readonly newId: NewId },
): Promise<readonly DecisionOutcome[]> {
  const outcomes: DecisionOutcome[] = [];
  let atMost = pending.length;
  while (outcomes.length < pending.length) {
    const next = pending.slice(outcomes.length, outcomes.length + atMost);
    const made = await decideNext(turn, context, { pending: next, newId });
    outcomes.push(...made);
    // Where neighbours stand in each other's way, loading many for the few that are made would cost more than it saves.
    atMost = made.length * 2;
  }
  return outcomes;
}

/** Makes and writes the first decision, and those after it up to one that reads what an earlier one changes. */
async function decideNext(
  turn: WriteTurn,
  context: SqlContext,
  { pending, newId }: { readonly pending: readonly PendingDecision[]; readonly newId: NewId },
): Promise<readonly DecisionOutcome[]> {
  const unrelated = pending.slice(0, countUnrelated(pending.map(({ request }) => request)));
  const loaded = await loadScopes(turn.db, context, {
    requests: unrelated.map(({ request }) => request),
    now: turn.now,
  });
  const changes = new PendingChanges();
  const made: Made[] = [];
  for (const { request, decision } of unrelated) {
    const found = loaded.scopeOf(request, changes);
    if (found === null) break;
    const next = make(decision(found.scope), found.scope);
    if (next.kind === 'accepted') changes.add(next.events, { beat: next.decision.beat, told: found.named });
    made.push(next);
  }
  return write(turn, context, { made, fold: loaded.fold, newId });
}

function make(decision: Decision, scope: ManagedScope): Made {
  if (decision.kind === 'refused')
    return { kind: 'over', outcome: { decided: { outcome: 'refused', refusal: decision.refusal } } };
  try {
    const events = decision.events.map((event, index) => parseNewEvent(event, index, 'ledger'));
    return { kind: 'accepted', scope, decision, events };
  } catch (error) {
    if (error instanceof InvalidEventError) return { kind: 'over', outcome: { error } };
    throw error;
  }
}

async function write(
  turn: WriteTurn,
  context: SqlContext,
  {
    made,
    fold,
    newId,
  }: { readonly made: readonly Made[]; readonly fold: ManagedFold; readonly newId: NewId },
): Promise<readonly DecisionOutcome[]> {
  const requests = made.flatMap((item) =>
    item.kind === 'accepted' && item.events.length > 0 ? [{ events: item.events }] : [],
  );
  const appended =
    requests.length === 0
      ? []
      : [...(await appendInTransaction(turn, context, { requests, newId, managed: fold }))];
  const outcomes = made.map((item) =>
    item.kind === 'over'
      ? item.outcome
      : settle(item, item.events.length > 0 ? appended.shift() : null, fold),
  );
  await saveLeases(turn.db, context, fold);
  return outcomes;
}

/** The outcome of a decision whose events are written; a sign of life is put into the fold, to be saved. */
function settle(
  { scope, decision }: Made & { readonly kind: 'accepted' },
  appended: AppendOutcome | null | undefined,
  fold: ManagedFold,
): DecisionOutcome {
  if (appended === undefined) throw new Error('the log left the events of a decision unanswered');
  if (appended instanceof InvalidEventError) return { error: appended };
  const lease = decision.beat === undefined ? null : scope.leaseOf(decision.beat.task_id);
  if (lease !== null && decision.beat !== undefined) fold.putLease({ ...lease, ...decision.beat });
  return {
    decided: {
      outcome: 'decided',
      seqs: (appended?.events ?? []).map((event) => event.seq),
      after: scope,
      answer: decision.answer ?? {},
    },
  };
}
