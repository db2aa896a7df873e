import type { Seams } from '@custody/cli/simulation';
import type { LedgerStore, ManagedTask } from '@custody/ledger';

type Managed = NonNullable<LedgerStore['managed']>;
type Decision = Parameters<Managed['decide']>[1];
type Scope = Parameters<Decision>[0];
type Refused = Extract<ReturnType<Decision>, { readonly kind: 'refused' }>['refusal'];

/** Asks a decision again with a scope in which what made it refuse looks otherwise; null = the refusal stands. */
function secondLook(change: (refusal: Refused, scope: Scope) => Partial<Scope> | null): Seams {
  return {
    store: (store) => {
      const { managed } = store;
      if (managed === undefined) return store;
      return {
        ...store,
        managed: {
          ...managed,
          decide: (request, decision) =>
            managed.decide(request, (scope) => {
              const first = decision(scope);
              const other = first.kind === 'refused' ? change(first.refusal, scope) : null;
              return other === null ? first : decision(changed(scope, other));
            }),
        },
      };
    },
  };
}

/** The scope with some of its answers changed; the others are still asked of the scope itself. */
function changed(scope: Scope, change: Partial<Scope>): Scope {
  return Object.assign(Object.create(scope) as Scope, change);
}

function changedTask(scope: Scope, change: Partial<ManagedTask>): Partial<Scope> {
  return {
    taskOf: (id) => {
      const task = scope.taskOf(id);
      return task === null ? null : { ...task, ...change };
    },
  };
}

/** Lets a run write that holds nothing any more. `isTrusted` = which ones. */
function trusting(
  isTrusted: (facts: {
    readonly scope: Scope;
    readonly task: ManagedTask;
    readonly runId: string;
  }) => boolean,
): Seams {
  return secondLook((refusal, scope) => {
    const { reason, run_id: runId, task_id: taskId, offered } = refusal;
    if (reason !== 'stale_fence' || typeof runId !== 'string' || typeof taskId !== 'string') return null;
    const task = scope.taskOf(taskId);
    const lease = scope.leaseOf(taskId);
    if (task === null || lease === null || !isTrusted({ scope, task, runId })) return null;
    return {
      ...changedTask(scope, { current_run_id: runId, status: 'running' }),
      leaseOf: () => ({ ...lease, run_id: runId, fence: Number(offered), open: true }),
    };
  });
}

/** No fence at all. */
export const noFence = trusting(() => true);

/** A run that was taken over because its lease ran out. */
function wasExpired(task: ManagedTask, runId: string): boolean {
  const run = task.runs.find((item) => item.run_id === runId);
  return run !== undefined && ['stopped', 'reclaimed'].includes(run.outcome ?? '') && !run.operator_released;
}

/** A holder that slept through the end of its lease goes on as if nothing had happened. */
export const noFenceAfterExpiry = trusting(({ task, runId }) => wasExpired(task, runId));

/** A holder whose own clock says that its lease still runs is believed. */
export const trustedClocks = trusting(({ scope, task, runId }) => {
  const startedAt = task.runs.find((item) => item.run_id === runId)?.started_at;
  return wasExpired(task, runId) && startedAt !== undefined && scope.now < Date.parse(startedAt) + 60_000;
});

/** Takes a step again under a key that is known. */
export const forgottenKeys: Seams = {
  store: (store) => {
    const { managed } = store;
    if (managed === undefined) return store;
    return {
      ...store,
      managed: {
        ...managed,
        decide: (request, decision) =>
          managed.decide(request, (scope) => decision(changed(scope, { submissionOf: () => null }))),
      },
    };
  },
};

/** Gives a task to whoever asks, also while it is held. */
export const doubleClaims = secondLook(({ reason }, scope) =>
  reason === 'in_flight' ? changedTask(scope, { status: 'ready', parents: [] }) : null,
);

/** Delivers a verdict again. */
export const repeatedVerdicts = secondLook(({ reason }, scope) =>
  reason === 'already_delivered'
    ? {
        questionOf: (id) => {
          const question = scope.questionOf(id);
          return question === null ? null : { ...question, delivered: null };
        },
      }
    : null,
);

/** Replays a run although somebody acted since it ended. */
export const lateReplays = secondLook(({ reason }, scope) =>
  reason === 'changed_since_run' ? changedTask(scope, { changed_seq: 0, linked_seq: 0 }) : null,
);
