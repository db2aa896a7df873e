import { readFileSync } from 'node:fs';
import { parseProcessStat } from '../../core/process-stat.ts';

/** Clock ticks of `/proc` in a second; the same on every Linux. */
const TICKS_PER_SECOND = 100;

/** The table's clock and our own must agree this closely, or it is the clock of something else. */
const TOLERANCE_MS = 2000;

/** For how long the process that bears an id now has been running, in milliseconds; null if that can't be known. */
export function processAgeMs(pid: number): number | null {
  const own = ageInTable('self');
  // A container may show an uptime of its own beside starts that count from the boot of its host.
  if (own === null || Math.abs(own - process.uptime() * 1000) > TOLERANCE_MS) return null;
  return ageInTable(String(pid));
}

function ageInTable(entry: string): number | null {
  try {
    const uptime = Number(readFileSync('/proc/uptime', 'utf8').split(' ')[0]);
    const stat = parseProcessStat(readFileSync(`/proc/${entry}/stat`, 'utf8'));
    const age = stat === null ? Number.NaN : (uptime - stat.started_at_ticks / TICKS_PER_SECOND) * 1000;
    return Number.isFinite(age) ? age : null;
  } catch {
    return null;
  }
}
