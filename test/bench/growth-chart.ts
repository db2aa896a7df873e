/** What was measured at one size. Times in milliseconds, memory in MiB at its peak. */
export interface SizeFigures {
  readonly events: number;
  readonly import_per_second: number;
  readonly import_mib: number;
  readonly sqlite_bytes: number;
  readonly sqlite_boot_ms: number;
  readonly sqlite_sweep_ms: number;
  readonly sqlite_audit_ms: number;
  readonly sqlite_mib: number;
  readonly backfill_per_second: number;
  readonly index_per_second: number;
  readonly index_mib: number;
  readonly jsonl_boot_ms: number;
  readonly jsonl_sweep_ms: number;
  readonly jsonl_mib: number;
}

const WIDTH = 760;
const HEIGHT = 420;
const LEFT = 70;
const RIGHT = 190;
const TOP = 40;
const BOTTOM = 50;

const LINES = [
  { name: 'boot, SQLite', colour: '#1f6feb', of: (size: SizeFigures) => size.sqlite_boot_ms },
  { name: 'boot, JSONL with index', colour: '#8250df', of: (size: SizeFigures) => size.jsonl_boot_ms },
  { name: 'idle sweep, SQLite', colour: '#1a7f37', of: (size: SizeFigures) => size.sqlite_sweep_ms },
  { name: 'audit of one task (process)', colour: '#bc4c00', of: (size: SizeFigures) => size.sqlite_audit_ms },
  {
    name: 'import, µs an event',
    colour: '#cf222e',
    of: (size: SizeFigures) => 1_000_000 / size.import_per_second,
  },
] as const;

/** Growth with the history on logarithmic scales, each line with its slope: 0 is flat, 1 is proportional. */
export function drawGrowth(sizes: readonly SizeFigures[]): string {
  const x = scale(
    sizes.map((size) => size.events),
    [LEFT, WIDTH - RIGHT],
  );
  const y = scale([0.1, 1000], [HEIGHT - BOTTOM, TOP]);
  const lines = LINES.map(({ name, colour, of }, index) => {
    // What was not measured at a size is not drawn; JSON keeps it as null.
    const measured = sizes
      .map((size) => [size.events, of(size)] as const)
      .filter(([, value]) => Number.isFinite(value));
    const points = measured
      .map(([events, value]) => `${x(events).toFixed(1)},${y(value).toFixed(1)}`)
      .join(' ');
    const label = `${name} (slope ${slopeOf(measured).toFixed(2)})`;
    const row = TOP + 18 * index;
    return `<polyline fill="none" stroke="${colour}" stroke-width="2" points="${points}"/>
<rect x="${WIDTH - RIGHT + 12}" y="${row - 8}" width="10" height="10" fill="${colour}"/>
<text x="${WIDTH - RIGHT + 28}" y="${row + 1}">${label}</text>`;
  });
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${WIDTH + 130} ${HEIGHT}" font-family="sans-serif" font-size="11">
<title>Growth with the length of the history</title>
<rect width="100%" height="100%" fill="white"/>
<text x="${LEFT}" y="20" font-size="14">Growth with the length of the history (ms, logarithmic)</text>
${[0.1, 1, 10, 100, 1000].map((value) => gridLine(value, y(value))).join('\n')}
${sizes.map(({ events }) => `<text x="${x(events)}" y="${HEIGHT - BOTTOM + 20}" text-anchor="middle">${events.toLocaleString('en')}</text>`).join('\n')}
<text x="${(LEFT + WIDTH - RIGHT) / 2}" y="${HEIGHT - 10}" text-anchor="middle">events</text>
${lines.join('\n')}
</svg>
`;
}

function gridLine(value: number, at: number): string {
  return `<line x1="${LEFT}" x2="${WIDTH - RIGHT}" y1="${at}" y2="${at}" stroke="#d0d7de"/>
<text x="${LEFT - 8}" y="${at + 4}" text-anchor="end">${value}</text>`;
}

function scale(values: readonly number[], [from, to]: readonly [number, number]): (value: number) => number {
  const low = Math.log10(Math.min(...values));
  const high = Math.log10(Math.max(...values));
  return (value) => from + ((Math.log10(value) - low) / (high - low)) * (to - from);
}

/** The exponent of growth: the slope of the straight line that fits best on logarithmic scales. */
function slopeOf(points: readonly (readonly [number, number])[]): number {
  const logs = points.map(([size, value]) => [Math.log10(size), Math.log10(value)] as const);
  const mean = (of: (point: readonly [number, number]) => number) =>
    logs.reduce((sum, point) => sum + of(point), 0) / logs.length;
  const [meanX, meanY] = [mean(([a]) => a), mean(([, b]) => b)];
  const covariance = logs.reduce((sum, [a, b]) => sum + (a - meanX) * (b - meanY), 0);
  return covariance / logs.reduce((sum, [a]) => sum + (a - meanX) ** 2, 0);
}
