import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { bareAppends, emmettAppends, emmettCallers, emmettOneStream } from './append.ts';
import { sqliteClaims } from './claims.ts';
import { flatOver, importedLog, importMemory } from './grown.ts';
import { backfilledRows, idleSweeps } from './heal.ts';
import { describeMachine } from './machine.ts';
import { concurrentAppends, graphileClaims, pgBossClaims, stopServer } from './postgres.ts';
import { coldFold, coldIndex, warmBoot } from './replay.ts';
import { toTable } from './report.ts';
import type { Comparison, Measured } from './round.ts';
import { measure } from './round.ts';
import { auditOfOneTask, startUp } from './start-up.ts';
import { takeover } from './takeover.ts';

const { values } = parseArgs({
  options: {
    only: { type: 'string', multiple: true },
    quick: { type: 'boolean', default: false },
    json: { type: 'string' },
    rounds: { type: 'string' },
    /** How much of the work is done, 1 being all of it. */
    scale: { type: 'string' },
  },
});
const size = Number(values.scale ?? (values.quick ? 0.1 : 1));
const rounds = Number(values.rounds ?? (values.quick ? 3 : 5));
const directory = mkdtempSync(join(tmpdir(), 'custody-bench-'));

/** Built when their turn comes, since some write their data first. */
const COMPARISONS: readonly (readonly [id: string, build: () => Comparison])[] = [
  ['append-single', () => bareAppends(directory, { count: 2000 * size, batch: 1 })],
  ['append-batch', () => bareAppends(directory, { count: 50_000 * size, batch: 1000 })],
  ['emmett-single', () => emmettAppends(directory, { count: 2000 * size, batch: 1, emmettCount: 100 })],
  [
    'emmett-callers',
    () => emmettCallers(directory, { count: 16_000 * size, batch: 1, callers: 16, emmettCount: 100 }),
  ],
  ['emmett-batch', () => emmettAppends(directory, { count: 50_000 * size, batch: 1000, emmettCount: 1000 })],
  [
    'emmett-stream',
    () => emmettOneStream(directory, { count: 50_000 * size, batch: 1000, emmettCount: 5000 }),
  ],
  ['claims', () => sqliteClaims(directory, { count: 2000 * size, workers: 16 })],
  ['claims-alone', () => sqliteClaims(directory, { count: 1000 * size, workers: 1 })],
  ['postgres-boss', () => pgBossClaims(2000 * size)],
  ['postgres-graphile', () => graphileClaims(2000 * size)],
  ['postgres-append', () => concurrentAppends(50_000 * size)],
  ['fold', () => coldFold(directory, { events: 1_000_000 * size, noise: 0 })],
  ['fold-noise', () => coldFold(directory, { events: 50_000 * size, noise: 19 })],
  ['index', () => coldIndex(directory, { events: 200_000 * size, noise: 0 })],
  ['index-boot', () => warmBoot(directory, { events: 200_000 * size, noise: 0 })],
  ['backfill', () => backfilledRows(directory, 10_000 * size)],
  ['idle-sweep', () => idleSweeps(directory, 100_000 * size)],
  ['import', () => importedLog(directory, 1_000_000 * size)],
  ['import-memory', () => importMemory(directory, 1_000_000 * size)],
  [
    'flat-boot',
    () => flatOver(directory, { what: 'boot', events: 1_000_000 * size, of: (step) => step.boot_ms }),
  ],
  [
    'flat-sweep',
    () => flatOver(directory, { what: 'idle sweep', events: 1_000_000 * size, of: (step) => step.sweep_ms }),
  ],
  ['takeover', () => takeover(directory)],
  ['start-up', () => startUp(5)],
  ['audit', () => auditOfOneTask(directory, { count: 5, events: 1_000_000 * size })],
];

const results: Measured[] = [];
try {
  for (const [id, build] of COMPARISONS) {
    if (values.only !== undefined && !values.only.includes(id)) continue;
    process.stderr.write(`bench: ${id}\n`);
    results.push(await measure(id, build(), rounds));
  }
} finally {
  await stopServer();
  rmSync(directory, { recursive: true, force: true });
}
process.stdout.write(toTable(results));
if (values.json !== undefined)
  writeFileSync(values.json, `${JSON.stringify({ machine: describeMachine(), results }, null, 2)}\n`);
