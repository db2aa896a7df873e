import type { HttpChannel } from '../adapters/http/http-channel.ts';
import type { SeenRun } from '../core/managed/decide-release.ts';
import type { ManagedSettings } from '../core/managed/scope.ts';
import type { ProcessControl } from '../ports/process-control.ts';
import { idArgument } from '../shell/arguments.ts';
import type { ManagedLeases, RunningTask } from '../shell/managed-leases.ts';
import type { Send } from './remote-commands.ts';

interface LeasesJson {
  readonly settings: ManagedSettings;
  readonly running: readonly RunningTask[];
}

/** What a sweep does with leases, over HTTP. A worker's process is looked at from here: it may run on this host. */
export function remoteLeases(channel: HttpChannel, send: Send, processes: ProcessControl): ManagedLeases {
  const pathOf = (taskId: string, verb: string) => `/ports/leases/${idArgument('task_id', taskId)}/${verb}`;
  const read = async (): Promise<LeasesJson> =>
    (await channel.ask({ path: '/ports/leases' })).body as LeasesJson;
  return {
    settings: async () => (await read()).settings,
    running: async () => {
      const running: RunningTask[] = [];
      for (const task of (await read()).running) {
        const worker = task.lease?.process ?? null;
        const isForeign = worker !== null && task.process === 'foreign';
        running.push(isForeign ? { ...task, process: await processes.stateOf(worker) } : task);
      }
      return running;
    },
    extend: async (seen, reason) => send(pathOf(seen.taskId, 'extend'), { ...ofRun(seen), reason }),
    release: async (seen) => send(pathOf(seen.taskId, 'release'), ofRun(seen)),
    lost: async (seen) => send(pathOf(seen.taskId, 'lost'), ofRun(seen)),
    requeueOrphan: async (taskId) => send(pathOf(taskId, 'requeue')),
  };
}

function ofRun({ runId, fence }: SeenRun): object {
  return { runId, fence };
}
