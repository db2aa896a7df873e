/** What `/proc/<pid>/stat` says that matters here. */
export interface ProcessStat {
  /** `R`, `S`, `D`, `Z`, ... */
  readonly state: string;
  readonly group: number;
  /** When it started, in clock ticks since the boot. */
  readonly started_at_ticks: number;
}

/** Parses a `stat` line; the command in it may hold blanks and brackets. Null if it is none. */
export function parseProcessStat(line: string): ProcessStat | null {
  const fields = line
    .slice(line.lastIndexOf(')') + 1)
    .trim()
    .split(/\s+/);
  const [state, , group] = fields;
  const ticks = Number(fields[19]);
  if (
    !line.includes(')') ||
    state === undefined ||
    !Number.isInteger(Number(group)) ||
    !Number.isInteger(ticks)
  )
    return null;
  return { state, group: Number(group), started_at_ticks: ticks };
}

/** A zombie has ended: it waits for its parent to read how. */
export function isProcessEnded(stat: ProcessStat): boolean {
  return stat.state === 'Z' || stat.state === 'X' || stat.state === 'x';
}
