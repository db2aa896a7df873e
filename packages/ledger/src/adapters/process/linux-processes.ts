import { readFile, readlink } from 'node:fs/promises';
import { setTimeout as delay } from 'node:timers/promises';
import type { HostIdentity, SeenProcess } from '../../core/managed/process-state.ts';
import { stateOfProcess } from '../../core/managed/process-state.ts';
import type { ProcessControl, ProcessState } from '../../ports/process-control.ts';

/** The places of state and start time in `/proc/PID/stat`, counted after the name. */
const STATE_FIELD = 0;
const START_FIELD = 19;

/** Processes as `/proc` shows them. On a host without one nothing can be identified, and so nothing is signalled. */
export function linuxProcesses(): ProcessControl {
  const stateOf: ProcessControl['stateOf'] = async (identity): Promise<ProcessState> =>
    stateOfProcess(identity, await readHost(), await seeProcess(identity.pid));

  return {
    identify: async (pid) => {
      const host = await readHost();
      const seen = await seeProcess(pid);
      return host === null || seen.outcome !== 'seen'
        ? null
        : { pid, started_at_ticks: seen.started_at_ticks, ...host };
    },
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

async function readHost(): Promise<HostIdentity | null> {
  const bootId = await textOrNull(() => readFile('/proc/sys/kernel/random/boot_id', 'utf8'));
  if (bootId === null) return null;
  const machineId = await textOrNull(() => readFile('/etc/machine-id', 'utf8'));
  const namespace = await textOrNull(() => readlink('/proc/self/ns/pid'));
  return {
    boot_id: bootId,
    ...(machineId === null ? {} : { machine_id: machineId }),
    ...(namespace === null ? {} : { pid_namespace: namespace }),
  };
}

/** A zombie has ended: it only waits for its parent to take note. */
async function seeProcess(pid: number): Promise<SeenProcess> {
  const text = await textOrNull(() => readFile(`/proc/${pid}/stat`, 'utf8'));
  if (text === null) return probe(pid);
  // The name stands in brackets and may hold anything, brackets and blanks too.
  const fields = text.slice(text.lastIndexOf(')') + 2).split(' ');
  const state = fields[STATE_FIELD] ?? '';
  if (/^[ZXx]$/.test(state)) return { outcome: 'gone' };
  const ticks = Number(fields[START_FIELD]);
  return Number.isSafeInteger(ticks) ? { outcome: 'seen', started_at_ticks: ticks } : { outcome: 'hidden' };
}

/** `/proc` may hide the processes of others; only "no such process" proves that nobody is there. */
function probe(pid: number): SeenProcess {
  try {
    process.kill(pid, 0);
    return { outcome: 'hidden' };
  } catch (error) {
    return error instanceof Error && 'code' in error && error.code === 'ESRCH'
      ? { outcome: 'gone' }
      : { outcome: 'hidden' };
  }
}

async function textOrNull(read: () => Promise<string>): Promise<string | null> {
  try {
    const text = (await read()).trim();
    return text === '' ? null : text;
  } catch {
    return null;
  }
}
