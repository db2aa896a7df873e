import { readFile } from 'node:fs/promises';
import { setTimeout as delay } from 'node:timers/promises';
import type { ProcessIdentity } from '../../core/managed/managed-task.ts';
import type { ProcessControl, ProcessState } from '../../ports/process-control.ts';

/** The place of a process's start time and state in `/proc/PID/stat`, counted after its name. */
const STATE_FIELD = 0;
const START_FIELD = 19;

/** Processes as `/proc` shows them. On a host without one nothing can be identified, and so nothing is signalled. */
export function linuxProcesses(): ProcessControl {
  async function stateOf(identity: ProcessIdentity): Promise<ProcessState> {
    if ((await readBootId()) !== identity.boot_id) return 'foreign';
    const found = await readProcess(identity.pid);
    return found !== null && found.started === identity.started ? 'alive' : 'gone';
  }

  return {
    identify: async (pid) => {
      const bootId = await readBootId();
      const found = await readProcess(pid);
      return bootId === null || found === null ? null : { pid, started: found.started, boot_id: bootId };
    },
    stateOf,
    signal: async (identity, name) => {
      // Looked at right before the signal: in between the pid could only be reused after a wait for the old one.
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

async function readBootId(): Promise<string | null> {
  const text = await readOrNull('/proc/sys/kernel/random/boot_id');
  return text === null ? null : text.trim();
}

/** A zombie has ended: it only waits for its parent to take note. */
async function readProcess(pid: number): Promise<{ readonly started: string } | null> {
  const text = await readOrNull(`/proc/${pid}/stat`);
  if (text === null) return null;
  // The name stands in brackets and may hold anything, brackets and blanks too.
  const fields = text.slice(text.lastIndexOf(')') + 2).split(' ');
  const started = fields[START_FIELD];
  const state = fields[STATE_FIELD];
  return started === undefined || state === 'Z' || state === 'X' ? null : { started };
}

async function readOrNull(path: string): Promise<string | null> {
  try {
    return await readFile(path, 'utf8');
  } catch {
    return null;
  }
}
