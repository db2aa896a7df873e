import type { Ledger, JsonObject as LedgerJson, NewEvent, PastCut, StoredEvent } from '@custody/ledger';
import { EVENT_TYPES, isKnownType, openLedger, openPast } from '@custody/ledger';
import type { AuditedLedger, AuditReport } from '@custody/reconciler';
import { auditTasks, createReconciler } from '@custody/reconciler';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { STORES } from '../contract/stores.ts';
import { auditOf } from '../oracle/audit.ts';
import { foldRows } from '../oracle/fold.ts';
import type { JsonObject } from '../oracle/json.ts';
import { collect } from '../support/collect.ts';
import { anyHistory } from '../support/event-arbitrary.ts';
import { manualClock } from '../support/manual-clock.ts';
import type { World } from '../support/random-commands.ts';
import { act, below } from '../support/random-commands.ts';
import { seededRandom } from '../support/root-random.ts';

const TASKS = ['t-1', 't-2', 't-3', 'T-1'];

/** What an audit says of a ledger as it stood at a cut. */
async function auditPast(
  ledger: Ledger,
  cut: PastCut,
  taskIds: readonly string[] | null = null,
): Promise<AuditReport> {
  const past = await openPast(ledger, cut);
  const source: AuditedLedger = {
    custody: past.custody,
    rows: past.rows,
    openQuestions: () => past.questions.list({ open: true }),
    state: { load: async () => null },
  };
  return auditTasks(source, taskIds);
}

/** An event as the log of the foreign dialect has it, which the oracle reads. */
function foreignRow({ event }: StoredEvent): readonly JsonObject[] {
  if (!isKnownType(event.type)) return [];
  const row: LedgerJson = { ...event, type: EVENT_TYPES[event.type] };
  return [row as JsonObject];
}

describe.each(STORES)('an audit of the past on $name', (kind) => {
  test('equals a naive replay of the log up to there, at every seq', async () => {
    await fc.assert(
      fc.asyncProperty(anyHistory, fc.nat(), async (history, pick) => {
        const { ledger, dispose } = await kind.open();
        // The dialect that the oracle reads has no attempts.
        for (const { role: _role, ...event } of history)
          await ledger.append([event as NewEvent]).catch(() => undefined);
        const stored = await collect(ledger.read());
        const cut = pick % (stored.length + 1);

        const report = await auditPast(ledger, { seq: cut }, TASKS);

        const fold = foldRows(stored.slice(0, cut).flatMap(foreignRow));
        expect(report.tasks.map((task) => task.audit)).toEqual(TASKS.map((id) => auditOf(fold, id, 'audit')));
        await dispose();
      }),
      { numRuns: kind.isDurable ? 10 : 150 },
    );
  });
});

test('equals what the audit said then: tasks, holders, questions, rows of managed tasks and totals', async () => {
  await fc.assert(
    fc.asyncProperty(fc.nat(), async (seed) => {
      const clock = manualClock();
      const ledger = await openLedger('memory:', { clock });
      const world: World = { random: seededRandom(seed), held: [], tasks: 1, acts: 0 };
      await ledger.tasks.create({ taskId: 't-1', title: 'first' });
      const then: { seq: number; ms: number; report: AuditReport }[] = [];
      for (let round = 0; round < 60; round += 1) {
        await act(ledger, world);
        if (below(world.random, 10) > 0) continue;
        const report = await createReconciler(ledger).audit();
        then.push({ seq: (await ledger.head()).seq, ms: clock.now(), report });
        clock.advance(1000);
      }
      for (const { seq, ms, report } of then) {
        expect(await auditPast(ledger, { seq })).toEqual(report);
        expect(await auditPast(ledger, { atMs: ms })).toEqual(report);
      }
    }),
    { numRuns: 25 },
  );
});

test('a moment ends the past before the first event that was recorded after it, also when a clock was set back', async () => {
  const clock = manualClock();
  const ledger = await openLedger('memory:', { clock });
  const start = clock.now();
  for (const runId of ['r-1', 'r-2', 'r-3']) {
    await ledger.append([{ type: 'run.started', run_id: runId, task_id: 't-1' }]);
    clock.advance(runId === 'r-2' ? -2000 : 1000);
  }

  const at = async (ms: number) => {
    const { seq, at: moment } = await openPast(ledger, { atMs: ms });
    return { seq, moment };
  };

  expect(await at(start - 1)).toEqual({ seq: 0, moment: new Date(start - 1).toISOString() });
  expect(await at(start)).toMatchObject({ seq: 1 });
  expect(await at(start + 1000)).toMatchObject({ seq: 3 });
  expect(await openPast(ledger, { seq: 0 })).toMatchObject({ seq: 0, at: null });
});

test('rows of the past are what task.recorded, commands and heals tell; what nobody recorded is not there', async () => {
  const ledger = await openLedger('memory:');
  await ledger.append([
    { type: 'run.started', run_id: 'r-1', task_id: 't-1' },
    { type: 'task.recorded', task_id: 't-1', status: 'running' },
    { type: 'task.recorded', task_id: 't-1', status: 'failed', reason_code: 'x', error: 'broke' },
    { type: 'task.recorded', task_id: 't-1', status: 'running' },
  ]);
  await ledger.rows.put([
    {
      task_id: 't-1',
      status: 'failed',
      value: { task_id: 't-1', status: 'failed' },
      raw: new Map([
        ['task_id', '"t-1"'],
        ['status', '"failed"'],
      ]),
    },
    {
      task_id: 't-2',
      status: 'failed',
      value: { task_id: 't-2', status: 'failed' },
      raw: new Map([
        ['task_id', '"t-2"'],
        ['status', '"failed"'],
      ]),
    },
  ]);
  await createReconciler(ledger).backfill();
  await ledger.tasks.create({ taskId: 't-3', title: 'managed' });

  const statusAt = async (seq: number, taskId: string) =>
    (await (await openPast(ledger, { seq })).rows.load(taskId))?.row.value;

  expect(await statusAt(1, 't-1')).toBeUndefined();
  expect(await statusAt(2, 't-1')).toMatchObject({ status: 'running' });
  // A terminal row takes no other status, then as now.
  expect(await statusAt(4, 't-1')).toMatchObject({ status: 'failed', reason_code: 'x', error: 'broke' });
  expect(await statusAt(4, 't-1')).not.toHaveProperty('delegated_runs_unreconciled');
  expect(await statusAt(5, 't-1')).toMatchObject({ delegated_runs_unreconciled: ['r-1'] });
  expect(await statusAt(6, 't-2')).toBeUndefined();
  expect(await statusAt(5, 't-3')).toBeUndefined();
  expect(await statusAt(6, 't-3')).toMatchObject({ status: 'ready', title: 'managed' });
});
