import { readdir, readFile, readlink } from 'node:fs/promises';
import type { ProcessIdentity, ProcessStat } from '../core/process-identity.ts';
import { isEnded, parseProcessStat } from '../core/process-identity.ts';

/** A process as the table has it. `hidden` = it can't be seen, which is no proof that it is gone. */
export type Seen =
  | { readonly outcome: 'seen'; readonly stat: ProcessStat }
  | { readonly outcome: 'gone' }
  | { readonly outcome: 'hidden'; readonly reason: string };

/** Which boot of which machine this is, and which pids mean something here. */
export interface Host {
  readonly boot_id: string;
  readonly machine_id?: string;
  readonly pid_namespace?: string;
}

/** Reads where this process runs; null where there is no `/proc` to tell (any system but Linux). */
export async function readHost(): Promise<Host | null> {
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
 * Names a living process of this host for its `run.started`; null if it can't be named. Ask right after the spawn,
 * while the pid is certainly its.
 */
export async function identifyProcess(pid: number): Promise<ProcessIdentity | null> {
  const host = await readHost();
  const seen = host === null ? null : await seeProcess(pid);
  if (host === null || seen?.outcome !== 'seen') return null;
  return { pid, started_at_ticks: seen.stat.started_at_ticks, ...host };
}

/** Looks a pid up. `/proc` may hide other users' processes, so "no such file" is checked with the kernel. */
export async function seeProcess(pid: number): Promise<Seen> {
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
function probe(pid: number): Seen {
  try {
    process.kill(pid, 0);
    return { outcome: 'hidden', reason: `process ${pid} exists and does not show in /proc` };
  } catch (error) {
    const code = codeOf(error);
    return code === 'ESRCH' ? { outcome: 'gone' } : { outcome: 'hidden', reason: `process ${pid}: ${code}` };
  }
}

/** True if a living process belongs to the group, which outlives its leader. */
export async function hasLivingMember(group: number): Promise<boolean> {
  const names = await readdir('/proc');
  for (const name of names) {
    if (!/^\d+$/.test(name)) continue;
    const stat = parseProcessStat(await textOr(() => readFile(`/proc/${name}/stat`, 'utf8')));
    if (stat !== null && stat.group === group && !isEnded(stat)) return true;
  }
  return false;
}

/** The code of an error of the operating system, such as `EPERM`. */
export function codeOf(error: unknown): string {
  return error instanceof Error && 'code' in error && typeof error.code === 'string' ? error.code : 'UNKNOWN';
}

async function textOr(read: () => Promise<string>): Promise<string> {
  try {
    return (await read()).trim();
  } catch {
    return '';
  }
}
