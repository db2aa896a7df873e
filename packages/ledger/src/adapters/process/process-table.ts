import { readFile, readlink } from 'node:fs/promises';
import type { ProcessIdentity } from '../../core/managed/managed-task.ts';
import type { HostIdentity } from '../../core/managed/process-state.ts';
import type { ProcessStat } from '../../core/process-stat.ts';
import { parseProcessStat } from '../../core/process-stat.ts';

/** A pid as the table has it. `hidden` = it can't be seen, which is no proof that it is gone. */
export type PidEntry =
  | { readonly outcome: 'seen'; readonly stat: ProcessStat }
  | { readonly outcome: 'gone' }
  | { readonly outcome: 'hidden'; readonly reason: string };

/** Reads where this process runs; null where there is no `/proc` to tell (any system but Linux). */
export async function readHost(): Promise<HostIdentity | null> {
  const bootId = await textOr(() => readFile('/proc/sys/kernel/random/boot_id', 'utf8'));
  if (bootId === '') return null;
  const machineId = await textOr(() => readFile('/etc/machine-id', 'utf8'));
  const namespace = await textOr(() => readlink('/proc/self/ns/pid'));
  return {
    boot_id: bootId,
    ...(machineId === '' ? {} : { machine_id: machineId }),
    ...(namespace === '' ? {} : { pid_namespace: namespace }),
  };
}

/**
 * Names a process of this host, for its `run.started`; null if it can't be named. Ask right after the spawn, while the
 * pid is certainly its.
 */
export async function identifyProcess(pid: number): Promise<ProcessIdentity | null> {
  const host = await readHost();
  const entry = host === null ? null : await readPidEntry(pid);
  if (host === null || entry?.outcome !== 'seen') return null;
  return { pid, started_at_ticks: entry.stat.started_at_ticks, ...host };
}

/** Looks a pid up. `/proc` may hide other users' processes, so "no such file" is checked with the kernel. */
export async function readPidEntry(pid: number): Promise<PidEntry> {
  try {
    const stat = parseProcessStat(await readFile(`/proc/${pid}/stat`, 'utf8'));
    return stat === null
      ? { outcome: 'hidden', reason: `/proc/${pid}/stat can't be read as one` }
      : { outcome: 'seen', stat };
  } catch (error) {
    const code = codeOf(error);
    if (code !== 'ENOENT' && code !== 'ESRCH')
      return { outcome: 'hidden', reason: `/proc/${pid}/stat: ${code}` };
    return probe(pid);
  }
}

/** Only ESRCH proves that nobody is there; "not permitted" is somebody. */
function probe(pid: number): PidEntry {
  try {
    process.kill(pid, 0);
    return { outcome: 'hidden', reason: `process ${pid} exists and does not show in /proc` };
  } catch (error) {
    const code = codeOf(error);
    return code === 'ESRCH' ? { outcome: 'gone' } : { outcome: 'hidden', reason: `process ${pid}: ${code}` };
  }
}

function codeOf(error: unknown): string {
  return error instanceof Error && 'code' in error && typeof error.code === 'string' ? error.code : 'UNKNOWN';
}

async function textOr(read: () => Promise<string>): Promise<string> {
  try {
    return (await read()).trim();
  } catch {
    return '';
  }
}
