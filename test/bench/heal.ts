import type { Ledger } from '@custody/ledger';
import { openLedger, parseTaskRow } from '@custody/ledger';
import { createReconciler } from '@custody/reconciler';
import type { Comparison } from './round.ts';
import { timed } from './round.ts';
import { freshFile } from './workload.ts';

const FULL = 'WAL, synchronous=FULL';

async function ledgerWithHistory(directory: string, runs: number): Promise<Ledger> {
  const ledger = await openLedger(`sqlite:${freshFile(directory, 'heal')}`);
  for (let start = 0; start < runs; start += 1000) {
    await ledger.append(
      Array.from({ length: Math.min(1000, runs - start) }, (_, index) => start + index).flatMap((id) => [
        { type: 'run.started', run_id: `run-${id}`, task_id: `task-${id}` },
        { type: 'run.settled', run_id: `run-${id}`, state: 'succeeded' },
      ]),
    );
  }
  return ledger;
}

/** Puts rows that say of settled runs that they are open. */
export async function putStaleRows(ledger: Ledger, rows: number): Promise<void> {
  await ledger.rows.put(
    Array.from({ length: rows }, (_, id) =>
      parseTaskRow(
        JSON.stringify({
          task_id: `task-${id}`,
          status: 'failed',
          delegated_runs_unreconciled: [`run-${id}`],
        }),
      ),
    ),
  );
}

/** Heals stale rows against a bound of 5,000 rows a second. */
export function backfilledRows(directory: string, rows: number): Comparison {
  return {
    name: 'backfill of stale rows',
    units: rows,
    unit: 'rows',
    atLeast: 1,
    durability: FULL,
    note: 'the bound is the budget itself; each row is one guarded write and one event',
    ours: {
      name: 'custody',
      run: async () => {
        const ledger = await ledgerWithHistory(directory, rows);
        await putStaleRows(ledger, rows);
        const elapsed = await timed(() => createReconciler(ledger).backfill());
        await ledger.close();
        return elapsed;
      },
    },
    bound: { name: '5,000 rows/s', run: async () => (rows / 5000) * 1000 },
  };
}

const IDLE_PASSES = 50;

/** Idle sweeps against a bound of 2 ms each. */
export function idleSweeps(directory: string, runs: number): Comparison {
  let ledger: Ledger | null = null;
  return {
    name: `idle sweep over ${runs * 2} events`,
    units: IDLE_PASSES,
    unit: 'sweeps',
    atLeast: 1,
    durability: FULL,
    note: 'the bound is the budget itself; how it grows with the history is a figure of `history`',
    ours: {
      name: 'custody',
      run: async () => {
        ledger ??= await ledgerWithHistory(directory, runs);
        return idle(ledger);
      },
    },
    bound: { name: '2 ms', run: async () => 2 * IDLE_PASSES },
    close: async () => ledger?.close(),
  };
}

/** Milliseconds of some sweeps that find nothing. */
async function idle(ledger: Ledger): Promise<number> {
  const reconciler = createReconciler(ledger);
  await reconciler.sweep();
  return timed(async () => {
    for (let pass = 0; pass < IDLE_PASSES; pass += 1) await reconciler.sweep();
  });
}
