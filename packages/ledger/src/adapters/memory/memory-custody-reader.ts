import { isFaultOpen } from '../../core/containment.ts';
import type { CustodyFold } from '../../core/custody-fold.ts';
import { isPending } from '../../core/invocation.ts';
import { compareCodePoints } from '../../core/json.ts';
import { debtsOfRun, isOpen, isOwedInvocation } from '../../core/obligations.ts';
import { taskCustodyOf } from '../../core/task-custody.ts';
import type { CustodyDebts, CustodyReader } from '../../ports/custody-reader.ts';

/** A log as far as this reader needs it. */
interface FoldedLog {
  readonly fold: CustodyFold;
  readonly stored: { readonly length: number };
}

/** Answers from the whole fold, which this store keeps in memory. */
export function memoryCustodyReader(log: FoldedLog): CustodyReader {
  const { fold } = log;
  return {
    isReadable: async () => true,
    tasks: async (taskIds) => new Map(taskIds.map((id) => [id, taskCustodyOf(fold, id)])),
    run: async (runId) => fold.runs.get(runId) ?? null,
    invocation: async (id) => fold.invocations.get(id) ?? null,
    openRuns: async () => [...fold.runs.values()].filter(isOpen).sort((a, b) => a.first_seq - b.first_seq),
    pendingInvocations: async () =>
      [...fold.invocations.values()].filter(isPending).sort((a, b) => a.first_seq - b.first_seq),
    owingTaskIds: async () => {
      const runs = [...fold.runs.values()]
        .filter((run) => debtsOfRun(run).owed_at !== null)
        .map((run) => run.task_id);
      const invocations = [...fold.invocations.values()].filter(isOwedInvocation).map((item) => item.task_id);
      return [...new Set([...runs, ...invocations])].filter((id) => id !== '').sort(compareCodePoints);
    },
    openFaults: async () =>
      [...fold.containment.values()]
        .filter(isFaultOpen)
        .sort((a, b) => compareCodePoints(a.run_id, b.run_id)),
    debts: async () => debtsIn(fold),
    totals: async () => ({
      events: log.stored.length,
      runs: [...fold.runs.values()].filter((run) => run.started).length,
      ...debtsIn(fold),
    }),
  };
}

function debtsIn(fold: CustodyFold): CustodyDebts {
  const debts = [...fold.runs.values()].map(debtsOfRun);
  const pending = [...fold.invocations.values()].filter(isOwedInvocation);
  const since = [...debts.flatMap((debt) => debt.owed_at ?? []), ...pending.map((item) => item.requested_at)];
  return {
    open_runs: debts.filter((debt) => debt.owes_run).length,
    pending_invocations: pending.length,
    undisposed_patches: debts.filter((debt) => debt.owes_patch).length,
    oldest_unreconciled_at: since.sort(compareCodePoints)[0] ?? null,
  };
}
