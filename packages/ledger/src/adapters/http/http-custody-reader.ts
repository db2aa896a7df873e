import type { ContainmentRecord } from '../../core/containment.ts';
import type { InvocationRecord } from '../../core/invocation.ts';
import type { TaskCustody } from '../../core/obligations.ts';
import type { RunRecord } from '../../core/run-record.ts';
import type { CustodyReader, CustodyTotals } from '../../ports/custody-reader.ts';
import type { HttpChannel } from './http-channel.ts';

interface OpenJson {
  readonly readable: boolean;
  readonly runs: readonly RunRecord[];
  readonly invocations: readonly InvocationRecord[];
  readonly faults: readonly ContainmentRecord[];
  readonly task_ids: readonly string[];
}

/** What the log of a served ledger says. */
export function httpCustodyReader(channel: HttpChannel): CustodyReader {
  const open = async (): Promise<OpenJson> =>
    (await channel.ask({ path: '/ports/custody/open' })).body as OpenJson;
  const one = async <T>(kind: string, id: string): Promise<T | null> => {
    const { status, body } = await channel.ask({
      path: `/ports/custody/${kind}/${encodeURIComponent(id)}`,
    });
    return status === 404 ? null : (body as T);
  };
  return {
    isReadable: async () => (await open()).readable,
    tasks: async (taskIds) => {
      const { body } = await channel.ask({
        method: 'POST',
        path: '/ports/custody/tasks',
        body: { task_ids: taskIds },
      });
      const { tasks } = body as { readonly tasks: readonly TaskCustody[] };
      return new Map(tasks.map((task) => [task.task_id, task]));
    },
    run: (runId) => one<RunRecord>('runs', runId),
    invocation: (invocationId) => one<InvocationRecord>('invocations', invocationId),
    openRuns: async () => (await open()).runs,
    pendingInvocations: async () => (await open()).invocations,
    owingTaskIds: async () => (await open()).task_ids,
    openFaults: async () => (await open()).faults,
    debts: async () => {
      const {
        events: _events,
        runs: _runs,
        ...debts
      } = (await channel.ask({ path: '/ports/custody/totals' })).body as CustodyTotals;
      return debts;
    },
    totals: async () => (await channel.ask({ path: '/ports/custody/totals' })).body as CustodyTotals,
  };
}
