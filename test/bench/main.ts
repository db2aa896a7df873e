import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { batchedAppends, singleAppends } from './append.ts';
import { backfilledRows, idleSweeps } from './heal.ts';
import { coldReplay } from './replay.ts';
import type { Comparison, Measured } from './round.ts';
import { measure } from './round.ts';
import { startUp } from './start-up.ts';

const { values } = parseArgs({
  options: { only: { type: 'string' }, quick: { type: 'boolean', default: false }, json: { type: 'string' } },
});
const size = values.quick ? 0.1 : 1;
const rounds = values.quick ? 3 : 5;
const directory = mkdtempSync(join(tmpdir(), 'custody-bench-'));

/** Built when their turn comes, since some write their data first. */
const COMPARISONS: readonly (readonly [name: string, build: () => Comparison])[] = [
  ['append-single', () => singleAppends(directory, 2000 * size)],
  ['append-batch', () => batchedAppends(directory, 50_000 * size)],
  ['replay', () => coldReplay(directory, { events: 200_000 * size, noise: 0 })],
  ['replay-noise', () => coldReplay(directory, { events: 20_000 * size, noise: 19 })],
  ['backfill', () => backfilledRows(directory, 10_000 * size)],
  ['idle-sweep', () => idleSweeps(directory, { short: 2000, long: 100_000 * size })],
  ['start-up', () => startUp(5)],
];

function line(columns: readonly string[]): string {
  const [name = '', ...figures] = columns;
  return `${name.padEnd(44)}${figures.map((figure) => figure.padStart(16)).join('')}\n`;
}

function report(result: Measured): string {
  const { median, min, max } = result.ratio;
  return line([
    result.name,
    `${result.ours_per_second}/s`,
    `${result.bound_per_second}/s`,
    `${median.toFixed(2)} (${min.toFixed(2)}-${max.toFixed(2)})`,
    `>= ${result.at_least.toFixed(2)}`,
    result.met ? 'met' : 'NOT MET',
  ]);
}

try {
  process.stdout.write(line(['budget', 'custody', 'bound', 'ratio (min-max)', 'at least', '']));
  const results: Measured[] = [];
  for (const [name, build] of COMPARISONS) {
    if (values.only !== undefined && values.only !== name) continue;
    const result = await measure(build(), rounds);
    results.push(result);
    process.stdout.write(report(result));
  }
  if (values.json !== undefined) writeFileSync(values.json, `${JSON.stringify(results, null, 2)}\n`);
} finally {
  rmSync(directory, { recursive: true, force: true });
}
