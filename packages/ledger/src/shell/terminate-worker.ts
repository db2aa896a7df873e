import type { JsonObject } from '../core/json.ts';
import type { ProcessIdentity } from '../core/managed/managed-task.ts';
import type { ProcessControl } from '../ports/process-control.ts';

/** How often and how long a process is given to go, in milliseconds: five seconds in all. */
const POLLS = 10;
const POLL_MS = 500;

/** What became of a worker's process. */
export interface Termination {
  readonly report: JsonObject;
  /** True if the process is still there: its task may not be given to anybody else. */
  readonly survived: boolean;
}

/**
 * Stops a worker: asks first, waits, and kills it if it stays. Without a process, or with one of another host,
 * nothing is attempted. A pid that another process has by now is never signalled.
 * A worker that may not be signalled (another user's, or a group whose leader is gone) counts as one that survived.
 */
export async function terminateWorker(
  processes: ProcessControl,
  worker: ProcessIdentity | null,
): Promise<Termination> {
  if (worker === null) return { report: {}, survived: false };
  const state = await processes.stateOf(worker);
  if (state !== 'alive') {
    const report = {
      prev_pid: worker.pid,
      host_local: state === 'gone',
      termination_attempted: false,
      terminated: state === 'gone',
      sigkill: false,
    };
    return { report, survived: false };
  }
  const wasAsked = await processes.signal(worker, 'SIGTERM');
  let isGone = await hasEnded(processes, worker, wasAsked);
  const wasKilled = wasAsked && !isGone && (await processes.signal(worker, 'SIGKILL'));
  if (!isGone) isGone = await hasEnded(processes, worker, wasKilled);
  return {
    report: {
      prev_pid: worker.pid,
      host_local: true,
      termination_attempted: wasAsked,
      terminated: isGone,
      sigkill: wasKilled,
    },
    survived: !isGone,
  };
}

/** Waits for the end of a worker that was signalled; for one that may not be signalled there is nothing to wait. */
async function hasEnded(
  processes: ProcessControl,
  worker: ProcessIdentity,
  wasSignalled: boolean,
): Promise<boolean> {
  for (let poll = 0; wasSignalled && poll < POLLS; poll += 1) {
    if ((await processes.stateOf(worker)) !== 'alive') return true;
    await processes.wait(POLL_MS);
  }
  return (await processes.stateOf(worker)) !== 'alive';
}
