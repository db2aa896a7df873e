import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { cpSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import type { Ledger } from '@custody/ledger';
import { openLedger, parseTaskRow } from '@custody/ledger';
import { createReconciler } from '@custody/reconciler';
import { describe, expect, test } from 'vitest';
import { cliBench } from '../support/cli.ts';
import { collect } from '../support/collect.ts';
import { settled, started } from '../support/events.ts';
import { countKills } from '../support/figures.ts';
import { failedRow } from '../support/terminal-rows.ts';

const CRASHES = 50;
/** Each crash costs the start of a process; a busy machine must not fail the test. */
const TIMEOUT_MS = 400_000;
const WORKER = fileURLToPath(new URL('../support/backfill-worker.mjs', import.meta.url));

function idsOf(count: number): readonly string[] {
  return Array.from({ length: count }, (_, index) => `t-${String(index).padStart(3, '0')}`);
}

async function prepare(url: string, ids: readonly string[]): Promise<void> {
  const ledger = await openLedger(url);
  await ledger.append(
    ids.flatMap((id) => [started(`run-${id}`, id, { snapshot_id: `s-${id}` }), settled(`run-${id}`)]),
  );
  await ledger.rows.put(
    ids.map((id) => parseTaskRow(JSON.stringify(failedRow(id, [`run-${id}`], { result: 'x'.repeat(500) })))),
  );
  await ledger.close();
}

/** How often the log tells of a heal of each task. */
async function heals(ledger: Ledger): Promise<Map<string, number>> {
  const counts = new Map<string, number>();
  for (const { event } of await collect(ledger.read({ type: 'custody.unreconciled' }))) {
    const id = String(event['task_id']);
    counts.set(id, (counts.get(id) ?? 0) + 1);
  }
  return counts;
}

/** Runs a backfill in a process of its own and kills it some milliseconds after it began; answers how long it ran, and whether the kill came in time. */
async function killedBackfill(
  url: string,
  afterMs: number | null,
): Promise<{ readonly took: number; readonly isKilled: boolean }> {
  const child = spawn(process.execPath, [WORKER, url], { stdio: ['ignore', 'pipe', 'inherit'] });
  const ended = once(child, 'close');
  await once(child.stdout, 'data');
  const began = performance.now();
  if (afterMs !== null) setTimeout(() => child.kill('SIGKILL'), afterMs);
  await ended;
  return { took: performance.now() - began, isKilled: child.signalCode === 'SIGKILL' };
}

describe.each([
  // SQLite commits 200 rows at a time: several commits, so that a crash can fall between two.
  ['sqlite', 600, (path: string) => `sqlite:${path}/custody.db`],
  ['jsonl', 120, (path: string) => `jsonl:${path}/root`],
] as const)('a backfill on %s', (name, count, urlIn) => {
  test(
    `P1, P6 and V9: killed ${CRASHES} times at any instant, it loses nothing, and the next one finishes the work`,
    async () => {
      const bench = cliBench();
      const ids = idsOf(count);
      await prepare(urlIn(bench.path('prepared')), ids);
      cpSync(bench.path('prepared'), bench.path('timed'), { recursive: true });
      const { took: span } = await killedBackfill(urlIn(bench.path('timed')), null);
      let interrupted = 0;
      let kills = 0;
      let lost = 0;
      for (let round = 0; round < CRASHES; round += 1) {
        const place = bench.path(`round-${round}`);
        cpSync(bench.path('prepared'), place, { recursive: true });
        // The instant is what is tried: spread over the work, as long as it takes on this machine.
        const { isKilled } = await killedBackfill(urlIn(place), (span * (round + 0.5)) / CRASHES);
        if (isKilled) kills += 1;

        const ledger = await openLedger(urlIn(place));
        const before = await heals(ledger);
        if (before.size > 0 && before.size < count) interrupted += 1;
        expect(await ledger.verify({ rebuild: true })).toMatchObject({ ok: true, problems: [] });
        expect(await createReconciler(ledger).backfill()).toMatchObject({ failed: [] });
        const after = await heals(ledger);
        lost += ids.filter((id) => !after.has(id)).length;
        expect(new Set(after.keys())).toEqual(new Set(ids));
        expect([...after.values()].filter((count) => count !== 1)).toEqual([]);
        expect(await createReconciler(ledger).backfill()).toMatchObject({ refreshed: [] });
        await ledger.close();
      }
      countKills(`backfills on ${name}`, kills, lost);
      // A crash in the middle of the work is what this test is about; it must have happened.
      expect(interrupted).toBeGreaterThan(0);
    },
    TIMEOUT_MS,
  );
});
