import { setTimeout as delay } from 'node:timers/promises';
import type { SeenProcess } from '../../core/managed/process-state.ts';
import { stateOfProcess } from '../../core/managed/process-state.ts';
import { isProcessEnded } from '../../core/process-stat.ts';
import type { ProcessControl, ProcessState } from '../../ports/process-control.ts';
import { identifyProcess, readHost, readPidEntry } from './process-table.ts';

/** Processes as `/proc` shows them. On a host without one nothing can be identified, and so nothing is signalled. */
export function linuxProcesses(): ProcessControl {
  const stateOf: ProcessControl['stateOf'] = async (identity): Promise<ProcessState> =>
    stateOfProcess(identity, await readHost(), await seeProcess(identity.pid));

  return {
    // One that has ended already can't be named for work that is to come.
    identify: async (pid) => ((await seeProcess(pid)).outcome === 'seen' ? identifyProcess(pid) : null),
    stateOf,
    signal: async (identity, name) => {
      // Looked at right before the signal: the pid can't be given away in the moment in between.
      if ((await stateOf(identity)) !== 'alive') return false;
      try {
        return process.kill(identity.pid, name);
      } catch {
        return false;
      }
    },
    wait: (milliseconds) => delay(milliseconds),
  };
}

/** A zombie has ended: it only waits for its parent to take note. */
async function seeProcess(pid: number): Promise<SeenProcess> {
  const entry = await readPidEntry(pid);
  if (entry.outcome !== 'seen') return entry;
  return isProcessEnded(entry.stat)
    ? { outcome: 'gone' }
    : { outcome: 'seen', started_at_ticks: entry.stat.started_at_ticks };
}
