import type { Ledger } from '@custody/ledger';
import { auditBoundary, createReconciler, writeEnd } from '@custody/reconciler';
import { describe, expect, test } from 'vitest';
import { DURABLE_STORES, STORES } from '../contract/stores.ts';
import { event, requested, settled, started } from '../support/events.ts';
import { executor } from '../support/executor.ts';
import { eventsOf } from '../support/log.ts';
import { manualClock } from '../support/manual-clock.ts';
import { rowOf as rowFrom } from '../support/row.ts';
import {
  counters,
  evidenceIn,
  failedRow,
  fingerprint,
  listOf,
  putRow,
  rowOf,
} from '../support/terminal-rows.ts';

const attempted = { ...counters(1, 0), actual_substrate: 'harness_attempted' };

const orders = <T>(items: readonly T[]): readonly (readonly T[])[] =>
  items.length < 2
    ? [items]
    : items.flatMap((item, index) => orders(items.toSpliced(index, 1)).map((rest) => [item, ...rest]));

describe.each(STORES)('what settles late, twice or in another order, on $name', ({ open }) => {
  test('B01: a row that names a settled run is healed at the first boot, and left alone at the second', async () => {
    const opened = await open();
    const { ledger } = opened;
    await ledger.append([started('r-oak-1', 't-oak'), started('r-open', 't-open')]);
    const kill = { reason: 'killed', frozen: { ...counters(1, 0), cost_micros: '500', ms: 300_000 } };
    await putRow(ledger, {
      task_id: 't-oak',
      status: 'cancelled',
      delegated_runs_unreconciled: ['r-oak-1'],
      ...kill,
    });
    await putRow(ledger, failedRow('t-open', ['r-open']));
    await ledger.append([settled('r-oak-1', { cost_usd: 0.0009 })]);

    expect(await createReconciler(ledger).backfill()).toMatchObject({ refreshed: ['t-oak', 't-open'] });
    const first = await fingerprint(opened);
    expect(await createReconciler(ledger).backfill()).toMatchObject({ refreshed: [] });

    expect(await fingerprint(opened)).toEqual(first);
    expect(await rowOf(ledger, 't-oak')).toMatchObject({
      status: 'cancelled',
      delegated_runs_unreconciled: [],
      ...kill,
    });
    expect(await listOf(ledger, 't-open')).toEqual(['r-open']);
    expect(await eventsOf(ledger, 'custody.reconciled')).toMatchObject([{ task_id: 't-oak' }]);

    // A kill of a task whose run has settled writes the empty list at once.
    await ledger.append([started('r-elm-1', 't-elm'), settled('r-elm-1')]);
    await putRow(ledger, { task_id: 't-elm', status: 'running' });
    const found = await auditBoundary({ ledger, rows: ledger.rows }, 't-elm', {
      gateway: () => executor(),
      trigger: 'cancel_publication',
    });
    expect(await writeEnd(ledger, { task_id: 't-elm', status: 'cancelled' }, found)).toEqual({
      outcome: 'written',
    });
    expect(await listOf(ledger, 't-elm')).toEqual([]);
  });

  test('B02: a success that comes after the deadline is attached to the row, and its state stays', async () => {
    const { ledger } = await open();
    await ledger.append([started('r-ash-1', 't-ash')]);
    await putRow(ledger, failedRow('t-ash', ['r-ash-1'], { reason_code: 'deadline', ...attempted }));
    expect(await createReconciler(ledger).sweep()).toMatchObject({ refreshed: [] });
    await ledger.append([settled('r-ash-1')]);

    expect(await createReconciler(ledger).sweep()).toMatchObject({ refreshed: ['t-ash'] });

    expect(await rowOf(ledger, 't-ash')).toMatchObject({
      status: 'failed',
      reason_code: 'deadline',
      delegated_runs_unreconciled: [],
      actual_substrate: 'harness_used',
      delegate_terminal_reconciliation: { terminal_runs: [{ run_id: 'r-ash-1', state: 'succeeded' }] },
      ...counters(1, 0),
    });
  });

  test('B03: the same start under another id moves nothing that is known of the run', async () => {
    const clock = manualClock();
    const { ledger } = await open({ clock });
    await ledger.append([started('r-yew-1', 't-yew', { id: 'e1', model: 'm-1', max_seconds: 60 })]);
    const before = await ledger.custody.run('r-yew-1');
    clock.advance(3);
    await ledger.append([started('r-yew-1', 't-yew', { id: 'e2', model: 'm-1', max_seconds: 90 })]);

    const after = await ledger.custody.run('r-yew-1');
    expect(after?.started_at).toBe(before?.started_at);
    expect(await ledger.custody.totals()).toMatchObject({ runs: 1, open_runs: 1 });
    // Under the same id it is a counted duplicate, and with other content a refused one.
    expect(
      await ledger.append([started('r-yew-1', 't-yew', { id: 'e1', model: 'm-1', max_seconds: 60 })]),
    ).toMatchObject({
      appended: 0,
      duplicates: 1,
    });
    await expect(
      ledger.append([started('r-yew-1', 't-yew', { id: 'e1', model: 'm-2' })]),
    ).rejects.toMatchObject({
      code: 'event_id_conflict',
      facts: { id: 'e1', recorded_seq: 1 },
    });
  });

  test('B04: start, end and cost end the same in every order', async () => {
    const events = [
      settled('r-fir-1', { task_id: 't-fir', state: 'failed', cost_usd: 0.7 }),
      started('r-fir-1', 't-fir'),
      event('run.ledger_recorded', { run_id: 'r-fir-1', task_id: 't-fir', cost_usd: 0.7 }),
    ];
    const ends = new Set<string>();
    for (const order of orders(events)) {
      const { ledger, dispose } = await open({ clock: manualClock() });
      for (const item of order) await ledger.append([item]);
      await putRow(
        ledger,
        failedRow('t-fir', ['r-fir-1'], { ...counters(1, 0), actual_substrate: 'native_only' }),
      );
      await createReconciler(ledger).backfill();
      const { terminal_state, settled: isSettled, task_id } = (await ledger.custody.run('r-fir-1')) ?? {};
      ends.add(
        JSON.stringify([
          terminal_state,
          isSettled,
          task_id,
          await listOf(ledger, 't-fir'),
          await evidenceIn(ledger, 't-fir'),
        ]),
      );
      await dispose();
    }
    expect([...ends]).toHaveLength(1);
    expect([...ends][0]).toContain('["failed",true,"t-fir",[]');
  });

  test('B04 and B05: an end whose start was never written is kept, counted, and joined by the start', async () => {
    const { ledger } = await open();
    await ledger.append([requested('inv-1', 't-bay')]);
    expect(await createReconciler(ledger).audit(['t-bay'])).toMatchObject({
      tasks: [{ audit: { pending_invocation_ids: ['inv-1'], open_run_ids: [] } }],
    });
    await ledger.append([settled('r-bay-1', { task_id: 't-bay' })]);
    await ledger.append([started('r-bay-1', 't-bay', { invocation_id: 'inv-1' })]);

    expect(await createReconciler(ledger).audit(['t-bay'])).toMatchObject({
      tasks: [{ audit: { unreconciled: [], terminal_runs: [{ run_id: 'r-bay-1', state: 'succeeded' }] } }],
    });
  });

  test('B06 and B32: the first end decides; a later one is kept as evidence and told by verify', async () => {
    const { ledger } = await open();
    await ledger.append([started('r-gum-1', 't-gum')]);
    await putRow(ledger, failedRow('t-gum', ['r-gum-1'], attempted));
    await ledger.append([settled('r-gum-1', { cost_usd: 0.25 })]);
    await ledger.append([settled('r-gum-1', { state: 'interrupted', cost_usd: 9, reason: 'exit 143' })]);
    await ledger.append([event('run.closed_absent', { run_id: 'r-gum-1' })]);

    await createReconciler(ledger).backfill();

    expect(await evidenceIn(ledger, 't-gum')).toMatchObject({
      delegated_runs_settled: 1,
      delegated_runs_succeeded: 1,
      delegated_runs_failed: 0,
      subscription_cost_usd: 0.25,
    });
    expect(await eventsOf(ledger, 'run.settled')).toHaveLength(2);
    expect((await ledger.verify()).notes).toMatchObject([{ code: 'conflicting_verdicts' }]);
  });

  test('B11 and B12: totals follow from the set of runs: replays, rebuilds and late costs never add up twice', async () => {
    const { ledger } = await open();
    await ledger.append(
      [1, 2, 3].flatMap((n) => [
        started(`r-rye-${n}`, 't-rye'),
        settled(`r-rye-${n}`, { state: 'failed', cost_usd: 100 }),
      ]),
    );
    await putRow(
      ledger,
      failedRow('t-rye', [], {
        cost_usd: 300,
        ...counters(3, 3, 0, 3),
        actual_substrate: 'harness_attempted',
      }),
    );
    await ledger.append(
      [4, 5].flatMap((n) => [
        started(`r-rye-${n}`, 't-rye'),
        settled(`r-rye-${n}`, { id: `s-${n}`, cost_usd: 100 }),
      ]),
    );
    for (let pass = 0; pass < 3; pass += 1) await createReconciler(ledger).backfill();
    expect(await evidenceIn(ledger, 't-rye')).toMatchObject({
      subscription_cost_usd: 500,
      delegated_runs_settled: 5,
    });

    // The same again, by id and by content.
    await ledger.append([settled('r-rye-4', { id: 's-4', cost_usd: 100 })]);
    await ledger.append([settled('r-rye-4', { cost_usd: 100 })]);
    await ledger.append([started('r-rye-6', 't-rye'), settled('r-rye-6', { cost_usd: 100 })]);
    await Promise.all([createReconciler(ledger).sweep(), createReconciler(ledger).backfill()]);

    expect(await evidenceIn(ledger, 't-rye')).toMatchObject({
      subscription_cost_usd: 600,
      delegated_runs_settled: 6,
    });
    expect(await rowOf(ledger, 't-rye')).toMatchObject({ cost_usd: 300, ...counters(3, 3, 0, 3) });
    expect(await ledger.verify({ rebuild: true })).toMatchObject({ ok: true, problems: [] });
  });

  test('B32: an orchestrator that writes a crash over a completion is refused, with the fields', async () => {
    const { ledger } = await open();
    await putRow(ledger, { task_id: 't-moss', status: 'completed', result: 'done' });

    const [answer] = await ledger.rows.put([
      rowFrom('t-moss', { status: 'failed', result: 'done', error: 'exit 143' }),
    ]);

    expect(answer).toMatchObject({ outcome: 'refused', reason: 'row_frozen', fields: ['status'] });
    expect(await rowOf(ledger, 't-moss')).not.toHaveProperty('error');
    // What it learned afterwards has a place beside the result.
    expect(await ledger.rows.put([rowFrom('t-moss', { status: 'completed', exit_code: 143 })])).toMatchObject(
      [{ outcome: 'written' }],
    );
  });

  test('B35: a task’s runs are told apart for ever: an ended one is never opened again by a retry', async () => {
    const { ledger } = await open();
    await ledger.append([
      started('r-ivy-1', 't-ivy'),
      settled('r-ivy-1', { state: 'failed' }),
      started('r-ivy-2', 't-ivy', { continuation_of: 'r-ivy-1' }),
      event('run.closed_absent', { run_id: 'r-ivy-2' }),
      started('r-ivy-3', 't-ivy', { continuation_of: 'r-ivy-2' }),
      settled('r-ivy-3', { state: 'cancelled' }),
      started('r-ivy-1', 't-ivy'),
    ]);

    const custody = (await ledger.custody.tasks(['t-ivy'])).get('t-ivy');

    expect(custody?.runs.map((run) => [run.run_id, run.settled, run.terminal_state])).toEqual([
      ['r-ivy-1', true, 'failed'],
      ['r-ivy-2', true, ''],
      ['r-ivy-3', true, 'cancelled'],
    ]);
    expect(await ledger.custody.totals()).toMatchObject({ open_runs: 0, runs: 3 });
  });
});

/** The row that a task has when its killer and its worker write at the same time. */
async function race(ours: Ledger, theirs: Ledger, taskId: string): Promise<string> {
  const kill = async (ledger: Ledger) =>
    ledger.rows.put([rowFrom(taskId, { status: 'cancelled', reason_code: 'killed' })]);
  const complete = async (ledger: Ledger) =>
    ledger.rows.put([rowFrom(taskId, { status: 'completed', result: 'done' })]);
  const [[killed], [completed]] = await Promise.all([kill(ours), complete(theirs)]);
  expect(new Set([killed?.outcome, completed?.outcome])).toEqual(new Set(['written', 'refused']));
  const row = await rowOf(ours, taskId);
  expect(row).toMatchObject(
    killed?.outcome === 'written'
      ? { status: 'cancelled', reason_code: 'killed' }
      : { status: 'completed', result: 'done' },
  );
  expect(row).not.toHaveProperty(killed?.outcome === 'written' ? 'result' : 'reason_code');
  return String(row['status']);
}

describe.each(DURABLE_STORES)('B33: a kill and a completion that cross, on $name', ({ open }) => {
  test('B33: exactly one decides, thirty times; the other hears so; a second kill changes nothing', async () => {
    const { ledger, another } = await open();
    const other = await another();
    for (let round = 0; round < 30; round += 1) {
      const taskId = `t-${round}`;
      await putRow(ledger, { task_id: taskId, status: 'running' });
      const status = round % 2 === 0 ? await race(ledger, other, taskId) : await race(other, ledger, taskId);
      const [again] = await other.rows.put([
        rowFrom(taskId, { status: 'cancelled', reason_code: 'killed again' }),
      ]);
      expect(again).toMatchObject({
        outcome: 'refused',
        fields: status === 'cancelled' ? ['reason_code'] : ['status'],
      });
    }
  });
});
