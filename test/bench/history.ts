import { execFileSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import type { SizeFigures } from './growth-chart.ts';
import { drawGrowth } from './growth-chart.ts';
import { writeRoot } from './history-root.ts';
import type { StepFigures } from './history-step.ts';
import { describeMachine } from './machine.ts';
import { runStep } from './step.ts';

// How everything grows with the history: each size has a data root and a SQLite store of its own, and each step runs
// in a process of its own, so that its time begins cold and its memory is its own.

/** Tasks that are healed at each size, as far as there are so many. */
const STALE_ROWS = 10_000;

const { values } = parseArgs({
  options: {
    sizes: { type: 'string', default: '10000,100000,1000000' },
    json: { type: 'string' },
    chart: { type: 'string' },
    /** Figures of earlier runs, to be kept and drawn with those of this one. */
    from: { type: 'string', multiple: true, default: [] },
    directory: { type: 'string', default: tmpdir() },
    'sqlite-only': { type: 'boolean', default: false },
  },
});
const directory = mkdtempSync(join(values.directory, 'custody-history-'));
const results: SizeFigures[] = values.from.flatMap(
  (file) => (JSON.parse(readFileSync(file, 'utf8')) as { readonly results: SizeFigures[] }).results,
);
try {
  for (const size of values.sizes
    .split(',')
    .filter((size) => size !== '')
    .map(Number)) {
    const figures = measureSize(size);
    process.stdout.write(`${JSON.stringify(figures)}\n`);
    results.push(figures);
    results.sort((a, b) => a.events - b.events);
    // After each size, since a long one may be interrupted.
    keep();
  }
  keep();
} finally {
  rmSync(directory, { recursive: true, force: true });
}
function keep(): void {
  if (values.json !== undefined)
    writeFileSync(values.json, `${JSON.stringify({ machine: describeMachine(), results }, null, 2)}\n`);
  if (values.chart !== undefined) writeFileSync(values.chart, drawGrowth(results));
}

function measureSize(events: number): SizeFigures {
  const place = join(directory, String(events));
  const root = join(place, 'root');
  const sqlite = `sqlite:${join(place, 'custody.db')}`;
  mkdirSync(place);
  writeRoot(root, events);
  const imported = runStep('import', sqlite, root);
  const boot = runStep('idle', sqlite);
  const stale = Math.min(STALE_ROWS, events / 2);
  const backfill = runStep('backfill', sqlite, String(stale));
  const audit = auditMilliseconds(sqlite);
  const bytes = Number(execFileSync('stat', ['-c', '%s', join(place, 'custody.db')], { encoding: 'utf8' }));
  rmSync(join(place, 'custody.db'));
  const jsonl = `jsonl:${root}`;
  const none: StepFigures = {
    first_boot_ms: Number.NaN,
    boot_ms: Number.NaN,
    sweep_ms: Number.NaN,
    work_ms: Number.NaN,
    peak_mib: Number.NaN,
  };
  const index = values['sqlite-only'] ? none : runStep('idle', jsonl);
  const warm = values['sqlite-only'] ? none : runStep('idle', jsonl);
  rmSync(place, { recursive: true });
  return {
    events,
    import_per_second: perSecond(events, imported.work_ms),
    import_mib: imported.peak_mib,
    sqlite_bytes: bytes,
    sqlite_boot_ms: boot.boot_ms,
    sqlite_sweep_ms: boot.sweep_ms,
    sqlite_audit_ms: audit,
    sqlite_mib: boot.peak_mib,
    backfill_per_second: perSecond(stale, backfill.work_ms),
    index_per_second: perSecond(events, index.first_boot_ms),
    index_mib: index.peak_mib,
    jsonl_boot_ms: warm.boot_ms,
    jsonl_sweep_ms: warm.sweep_ms,
    jsonl_mib: warm.peak_mib,
  };
}

/** The median of some audits of one task by the command, its whole process. */
function auditMilliseconds(store: string): number {
  const bin = fileURLToPath(new URL('../../../../packages/cli/bin/custody.js', import.meta.url));
  const times = Array.from({ length: 5 }, () => {
    const start = performance.now();
    execFileSync(process.execPath, [bin, '-s', store, 'audit', 'task-7'], { stdio: 'ignore' });
    return performance.now() - start;
  }).sort((a, b) => a - b);
  return Number((times[2] ?? Number.NaN).toFixed(1));
}

function perSecond(count: number, milliseconds: number): number {
  return Math.round((count / milliseconds) * 1000);
}
