import { readdir, readFile } from 'node:fs/promises';
import { isProcessEnded, parseProcessStat } from '../../core/process-stat.ts';

/**
 * True if a living process belongs to the group, which outlives its leader. This very process does not count: whoever
 * asks is no worker, also if a worker started it.
 */
export async function hasLivingMember(group: number): Promise<boolean> {
  const names = await readdir('/proc');
  for (const name of names) {
    if (!/^\d+$/.test(name) || Number(name) === process.pid) continue;
    const stat = parseProcessStat(await statOf(name));
    if (stat !== null && stat.group === group && !isProcessEnded(stat)) return true;
  }
  return false;
}

/**
 * What a signal for a process is sent to: its whole group if it leads one. The first process of a system or of a
 * container is signalled alone, since its number with a minus means every process that there is.
 */
export function signalTarget(pid: number, leadsGroup: boolean): number {
  return leadsGroup && pid > 1 ? -pid : pid;
}

/** Empty for a process that ended in the meantime. */
async function statOf(pid: string): Promise<string> {
  try {
    return await readFile(`/proc/${pid}/stat`, 'utf8');
  } catch {
    return '';
  }
}
