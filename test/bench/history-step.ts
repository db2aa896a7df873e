import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Ledger } from '@custody/ledger';
import { importInto, openLedger } from '@custody/ledger';
import type { Reconciler } from '@custody/reconciler';
import { createReconciler } from '@custody/reconciler';
import { putStaleRows } from './heal.ts';
import { spreadOf, timed } from './round.ts';

/** What one step says of itself. Times in milliseconds, memory in MiB at its peak. */
export interface StepFigures {
  /** The first boot of the step, which makes an index where there is none. */
  readonly first_boot_ms: number;
  /** From nothing to the first answer, again: the median of some boots. */
  readonly boot_ms: number;
  /** One idle sweep, the median of some. */
  readonly sweep_ms: number;
  /** What the step is about. */
  readonly work_ms: number;
  readonly peak_mib: number;
}

const TIMES = 21;

const [step = '', store = '', argument = ''] = process.argv.slice(2);
await loadLibraries();
const start = performance.now();
const ledger = await boot();
const firstBoot = performance.now() - start;
const figures = await measured(ledger);
await ledger.close();
const peak_mib = Math.round(process.resourceUsage().maxRSS / 1024);
process.stdout.write(
  JSON.stringify({ first_boot_ms: firstBoot, ...figures, peak_mib } satisfies StepFigures),
);

/** Opens the store and asks what is open. */
async function boot(): Promise<Ledger> {
  const opened = await openLedger(store);
  await opened.custody.openRuns();
  return opened;
}

/** What Node and the libraries take to load is no matter of the history. */
async function loadLibraries(): Promise<void> {
  const directory = mkdtempSync(join(tmpdir(), 'custody-history-step-'));
  const [kind = ''] = store.split(':');
  await (await openLedger(`${kind}:${join(directory, 'empty')}`)).close();
  rmSync(directory, { recursive: true });
}

async function measured(opened: Ledger) {
  const none = { boot_ms: Number.NaN, sweep_ms: Number.NaN };
  const reconciler = createReconciler(opened);
  if (step === 'import') return { ...none, work_ms: await timed(() => importInto(opened, argument)) };
  if (step === 'backfill') {
    await putStaleRows(opened, Number(argument));
    return { ...none, work_ms: await timed(() => reconciler.backfill()) };
  }
  await catchUp(reconciler);
  return {
    boot_ms: await medianTime(async () => (await boot()).close()),
    sweep_ms: await medianTime(() => reconciler.sweep()),
    work_ms: Number.NaN,
  };
}

/** Sweeps look at so many events each; only once they have seen all of the history are they idle. */
async function catchUp(reconciler: Pick<Reconciler, 'sweep'>): Promise<void> {
  for (;;) {
    const report = await reconciler.sweep();
    if (!('events_scanned' in report) || report.events_scanned === 0) return;
  }
}

async function medianTime(work: () => Promise<unknown>): Promise<number> {
  const times: number[] = [];
  for (let pass = 0; pass < TIMES; pass += 1) times.push(await timed(work));
  return spreadOf(times).median;
}
