import { join } from 'node:path';
import type { Ledger } from '@custody/ledger';
import { openLedger, parseTaskRow } from '@custody/ledger';
import { createReconciler } from '@custody/reconciler';
import type { Comparison } from './round.ts';
import { timed } from './round.ts';

let files = 0;

async function ledgerWithHistory(directory: string, runs: number): Promise<Ledger> {
  files += 1;
  const ledger = await openLedger(`sqlite:${join(directory, `heal-${files}.db`)}`);
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

/** Heals stale rows against a bound of 5,000 rows a second. */
export function backfilledRows(directory: string, rows: number): Comparison {
  return {
    name: 'backfill of stale rows',
    units: rows,
    unit: 'rows',
    atLeast: 1,
    note: 'synchronous=FULL; the bound is the budget itself, 5,000 rows a second',
    ours: {
      name: 'custody sqlite',
      run: async () => {
        const ledger = await ledgerWithHistory(directory, rows);
        const stale = Array.from({ length: rows }, (_, id) =>
          parseTaskRow(
            JSON.stringify({
              task_id: `task-${id}`,
              status: 'failed',
              delegated_runs_unreconciled: [`run-${id}`],
            }),
          ),
        );
        await ledger.rows.put(stale);
        const elapsed = await timed(async () => {
          await createReconciler(ledger).backfill();
        });
        await ledger.close();
        return elapsed;
      },
    },
    bound: { name: '5,000 rows/s', run: async () => (rows / 5000) * 1000 },
  };
}

const IDLE_PASSES = 20;

/** An idle sweep on a long history against one on a short history: the history must cost nothing. */
export function idleSweeps(
  directory: string,
  sizes: { readonly short: number; readonly long: number },
): Comparison {
  const idle = (runs: number) => {
    let ledger: Ledger | null = null;
    return async () => {
      ledger ??= await ledgerWithHistory(directory, runs);
      const reconciler = createReconciler(ledger);
      await reconciler.sweep();
      return timed(async () => {
        for (let pass = 0; pass < IDLE_PASSES; pass += 1) await reconciler.sweep();
      });
    };
  };
  return {
    name: `idle sweep, ${sizes.long * 2} against ${sizes.short * 2} events`,
    units: IDLE_PASSES,
    unit: 'sweeps',
    atLeast: 1 / 1.2,
    note: 'same store, same process; the ratio must stay near 1',
    ours: { name: 'long history', run: idle(sizes.long) },
    bound: { name: 'short history', run: idle(sizes.short) },
  };
}
