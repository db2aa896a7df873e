import { setTimeout as delay } from 'node:timers/promises';
import type { ProcessIdentity } from '../../core/managed/managed-task.ts';
import type { SeenProcess } from '../../core/managed/process-state.ts';
import { stateOfProcess } from '../../core/managed/process-state.ts';
import { isProcessEnded } from '../../core/process-stat.ts';
import type { ProcessControl, ProcessState } from '../../ports/process-control.ts';
import { hasLivingMember, signalTarget } from './process-group.ts';
import { identifyProcess, readHost, readPidEntry } from './process-table.ts';

/** Processes as `/proc` shows them. On a host without one nothing can be identified, and so nothing is signalled. */
export function linuxProcesses(): ProcessControl {
  /** Groups that were asked to stop while their leader was there to be known by. */
  const asked = new Set<string>();

  return {
    // One that has ended already can't be named for work that is to come.
    identify: async (pid) => ((await seeProcess(pid)).outcome === 'seen' ? identifyProcess(pid) : null),
    stateOf,
    signal: async (identity, name) => {
      // Looked at right before the signal: the pid can't be given away in the moment in between.
      if ((await stateOf(identity)) !== 'alive') return false;
      const key = [identity.boot_id, identity.pid, identity.started_at_ticks].join(' ');
      const leads = await leadsGroup(identity.pid);
      // Without its leader a group is a number, and numbers are given away.
      if (leads === null && !asked.has(key)) return false;
      if (leads !== false) asked.add(key);
      try {
        return process.kill(signalTarget(identity.pid, leads !== false), name);
      } catch {
        return false;
      }
    },
    wait: (milliseconds) => delay(milliseconds),
  };
}

/** A worker that led a group is not gone while something that it started goes on in it. */
async function stateOf(identity: ProcessIdentity): Promise<ProcessState> {
  const host = await readHost();
  const seen = await seeProcess(identity.pid);
  const state = stateOfProcess(identity, host, seen);
  const mayLeaveGroup = state === 'gone' && seen.outcome === 'gone' && identity.boot_id === host?.boot_id;
  return mayLeaveGroup && (await hasLivingMember(identity.pid)) ? 'alive' : state;
}

/** Whether a process leads a group that we are not in; null if the process is gone. */
async function leadsGroup(pid: number): Promise<boolean | null> {
  const entry = await readPidEntry(pid);
  if (entry.outcome !== 'seen' || isProcessEnded(entry.stat)) return null;
  const own = await readPidEntry(process.pid);
  return entry.stat.group === pid && !(own.outcome === 'seen' && own.stat.group === pid);
}

/** A zombie has ended: it only waits for its parent to take note. */
async function seeProcess(pid: number): Promise<SeenProcess> {
  const entry = await readPidEntry(pid);
  if (entry.outcome !== 'seen') return entry;
  return isProcessEnded(entry.stat)
    ? { outcome: 'gone' }
    : { outcome: 'seen', started_at_ticks: entry.stat.started_at_ticks };
}
