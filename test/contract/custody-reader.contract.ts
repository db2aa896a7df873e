import type { NewEvent, TaskCustody } from '@custody/ledger';
import {
  evidenceOf,
  openAttemptIds,
  openRunIds,
  pendingInvocationIds,
  terminalReceipts,
  undisposedPatchRunIds,
} from '@custody/ledger';
import { describe, expect, it } from 'vitest';
import { event, requested, settled, started } from '../support/events.ts';
import { manualClock } from '../support/manual-clock.ts';
import type { StoreKind } from './stores.ts';

/** What every store answers of current debts, by key. */
export function describeCustodyReader(store: StoreKind): void {
  async function open(...events: readonly NewEvent[]) {
    const { ledger } = await store.open({ clock: manualClock() });
    for (const item of events) await ledger.append([item]);
    const custodyOf = async (taskId: string): Promise<TaskCustody> => {
      const custody = (await ledger.custody.tasks([taskId])).get(taskId);
      if (custody === undefined) throw new Error(`no answer for ${taskId}`);
      return custody;
    };
    return { ledger, custodyOf };
  }

  describe(`debts in ${store.name}`, () => {
    it('knows nothing of a task without events, and says so', async () => {
      const { ledger, custodyOf } = await open();

      expect(await custodyOf('t-none')).toEqual({
        task_id: 't-none',
        runs: [],
        invocations: [],
        evidence: [],
        foreign_runs: [],
        facts: { task_id: 't-none', last_seq: 0, nudge_recorded: false, start_attempted: false },
      });
      expect(await ledger.custody.run('run-none')).toBeNull();
      expect(await ledger.custody.invocation('inv-none')).toBeNull();
      expect(await ledger.custody.isReadable()).toBe(true);
      expect(await ledger.custody.totals()).toEqual({
        events: 0,
        runs: 0,
        open_runs: 0,
        pending_invocations: 0,
        undisposed_patches: 0,
        oldest_unreconciled_at: null,
      });
    });

    it('follows an invocation from its request over the run to the patch and its disposal', async () => {
      const { ledger, custodyOf } = await open(requested('inv-1', 't-1'));
      expect(pendingInvocationIds(await custodyOf('t-1'))).toEqual(['inv-1']);

      await ledger.append([started('run-1', 't-1', { invocation_id: 'inv-1', snapshot_id: 'snap-1' })]);
      expect(pendingInvocationIds(await custodyOf('t-1'))).toEqual([]);
      expect(openRunIds(await custodyOf('t-1'))).toEqual(['run-1']);

      await ledger.append([settled('run-1')]);
      expect(openRunIds(await custodyOf('t-1'))).toEqual([]);
      expect(undisposedPatchRunIds(await custodyOf('t-1'))).toEqual(['run-1']);

      await ledger.append([event('patch.disposed', { run_id: 'run-1', disposition: 'applied' })]);
      expect(undisposedPatchRunIds(await custodyOf('t-1'))).toEqual([]);
      expect(await ledger.custody.owingTaskIds()).toEqual([]);
      expect(await ledger.verify({ rebuild: true })).toMatchObject({ ok: true });
    });

    it('V11, F16: a settle before its start counts at once, opens nothing, and settles the later start', async () => {
      const { ledger, custodyOf } = await open(settled('run-1', { task_id: 't-1' }));

      const before = await custodyOf('t-1');
      expect(before.runs).toEqual([]);
      expect(terminalReceipts(before)).toEqual([]);
      expect(evidenceOf(before)).toMatchObject({
        delegated_runs_started: 1,
        delegated_runs_settled: 1,
        subscription_cost_usd: 1.25,
      });

      await ledger.append([started('run-1', 't-1')]);

      const after = await custodyOf('t-1');
      expect(openRunIds(after)).toEqual([]);
      expect(terminalReceipts(after)).toMatchObject([{ run_id: 'run-1', state: 'succeeded' }]);
      expect(evidenceOf(after)).toMatchObject({ delegated_runs_started: 1, delegated_runs_settled: 1 });
      expect(await ledger.verify({ rebuild: true })).toMatchObject({ ok: true });
    });

    it('V11: the same rows give the same end in every order', async () => {
      const rows = [
        started('run-1', 't-1', { snapshot_id: 'snap-1' }),
        settled('run-1', { task_id: 't-1' }),
        event('run.closed_absent', { run_id: 'run-1', task_id: 't-1' }),
        event('run.ledger_recorded', { run_id: 'run-1', task_id: 't-1' }),
      ];
      const ends = new Set<string>();

      for (const order of permutations(rows)) {
        const { custodyOf } = await open(...order);
        const custody = await custodyOf('t-1');
        ends.add(
          JSON.stringify([
            openRunIds(custody),
            terminalReceipts(custody),
            undisposedPatchRunIds(custody),
            evidenceOf(custody),
            custody.runs.map((run) => run.ledger_recorded),
          ]),
        );
      }

      expect([...ends]).toHaveLength(1);
    });

    it('V13: the first verdict decides, also when the rows name no task', async () => {
      const { ledger, custodyOf } = await open(
        started('run-1', 't-1', { role: 'delegate' }),
        settled('run-1', { state: 'failed', cost_usd: 2 }),
        settled('run-1', { state: 'succeeded', cost_usd: 9, model: 'late' }),
      );

      const custody = await custodyOf('t-1');

      expect(terminalReceipts(custody)).toMatchObject([{ state: 'failed' }]);
      expect(evidenceOf(custody)).toMatchObject({
        delegated_runs_failed: 1,
        subscription_cost_usd: 2,
        harness_models: ['claude-x', 'late'],
      });
      expect(await ledger.verify({ rebuild: true })).toMatchObject({ ok: true });
    });

    it('counts a run of role attempt as no delegated run, also when its end names no task', async () => {
      const { ledger, custodyOf } = await open(started('run-1', 't-1', { role: 'attempt' }));
      expect(openAttemptIds(await custodyOf('t-1'))).toEqual(['run-1']);
      expect(openRunIds(await custodyOf('t-1'))).toEqual([]);

      await ledger.append([settled('run-1')]);

      expect(evidenceOf(await custodyOf('t-1'))).toMatchObject({
        delegated_runs_started: 0,
        delegate_start_attempted: false,
      });
      expect(await ledger.verify({ rebuild: true })).toMatchObject({ ok: true });
    });

    it('A4: leaves the runs of a review panel out of a task’s debts and evidence', async () => {
      const { ledger, custodyOf } = await open(
        started('run-leaf', 't-1'),
        started('run-review', 't-1', { source: 'review_substrate_panel' }),
        requested('inv-review', 't-1', { source: 'review_substrate_panel' }),
      );

      const custody = await custodyOf('t-1');

      expect(openRunIds(custody)).toEqual(['run-leaf']);
      expect(pendingInvocationIds(custody)).toEqual([]);
      expect(evidenceOf(custody)).toMatchObject({ delegated_runs_started: 1, delegated_runs_settled: 0 });
      expect((await ledger.custody.openRuns()).map((run) => run.run_id)).toEqual(['run-leaf', 'run-review']);
      expect((await ledger.custody.pendingInvocations()).map((item) => item.invocation_id)).toEqual([
        'inv-review',
      ]);
      expect(await ledger.custody.totals()).toMatchObject({ runs: 2, open_runs: 1, pending_invocations: 0 });
    });

    it('ruling 3: counts evidence where it was written and debts at the owner', async () => {
      const { ledger, custodyOf } = await open(
        started('run-1', 't-owner'),
        settled('run-1', { task_id: 't-other' }),
      );

      expect(evidenceOf(await custodyOf('t-other'))).toMatchObject({
        delegated_runs_settled: 1,
        subscription_cost_usd: 1.25,
      });
      expect(evidenceOf(await custodyOf('t-owner'))).toMatchObject({
        delegated_runs_started: 1,
        delegated_runs_settled: 0,
      });
      expect(terminalReceipts(await custodyOf('t-owner'))).toMatchObject([{ run_id: 'run-1' }]);
      expect((await custodyOf('t-other')).foreign_runs.map((run) => run.run_id)).toEqual(['run-1']);
      expect(await ledger.verify({ rebuild: true })).toMatchObject({ ok: true });
    });

    it('retires a project for all of its runs, in whichever commit they started', async () => {
      const owned = { project_id: 'p-1', project_owned: true };
      const { ledger, custodyOf } = await open(
        started('run-1', 't-1', owned),
        started('run-2', 't-2', owned),
        settled('run-1'),
        settled('run-2'),
      );
      await ledger.append([
        started('run-3', 't-3', owned),
        event('project.retired', { run_id: 'run-1' }),
        started('run-4', 't-4', owned),
      ]);

      const ownedRuns = await Promise.all(
        ['t-1', 't-2', 't-3', 't-4'].map(async (id) =>
          (await custodyOf(id)).runs.map((run) => run.project_owned),
        ),
      );

      expect(ownedRuns).toEqual([[false], [false], [false], [true]]);
      expect(await ledger.verify({ rebuild: true })).toMatchObject({ ok: true });
    });

    it('moves the patch debt to the run that continues in the same snapshot', async () => {
      const { ledger, custodyOf } = await open(
        started('run-1', 't-1', { snapshot_id: 's-1' }),
        settled('run-1'),
        started('run-2', 't-2', { snapshot_id: 's-1', capture_id: 'c-1', continuation_of: 'run-1' }),
        settled('run-2'),
      );

      expect(undisposedPatchRunIds(await custodyOf('t-1'))).toEqual([]);
      expect(undisposedPatchRunIds(await custodyOf('t-2'))).toEqual(['run-2']);
      expect((await ledger.custody.run('run-1'))?.superseded_by).toBe('run-2');
      expect((await custodyOf('t-1')).facts.last_seq).toBe(3);
    });

    it('V7: opens a containment fault again when a newer one comes, and lists faults by run', async () => {
      const fault = (run_id: string, at: string) =>
        event('containment.fault', { run_id, task_id: 't-1', at, reason: 'cancel_unverified', detail: 'd' });
      const { ledger } = await open(
        fault('run-2', '2026-03-01T00:00:05.000Z'),
        fault('run-1', '2026-03-01T00:00:01.000Z'),
        event('containment.resolved', { run_id: 'run-1', task_id: 't-1', at: '2026-03-01T00:00:02.000Z' }),
      );
      const open1 = (await ledger.custody.openFaults()).map((item) => item.run_id);

      await ledger.append([fault('run-1', '2026-03-01T00:00:03.000Z')]);
      const open2 = (await ledger.custody.openFaults()).map((item) => [item.run_id, item.reason]);

      expect(open1).toEqual(['run-2']);
      expect(open2).toEqual([
        ['run-1', 'cancel_unverified'],
        ['run-2', 'cancel_unverified'],
      ]);
    });
  });

  describe(`lists of ${store.name}`, () => {
    it('orders runs by their first start, invocations by their first request, tasks by code point', async () => {
      const { ledger, custodyOf } = await open(
        started('run-b', 't-b'),
        requested('inv-b', 't-B'),
        started('run-a', 't-b'),
        requested('inv-a', 't-B'),
        started('run-b', 't-b', { model: 'again' }),
      );

      expect((await ledger.custody.openRuns()).map((run) => run.run_id)).toEqual(['run-b', 'run-a']);
      expect(openRunIds(await custodyOf('t-b'))).toEqual(['run-b', 'run-a']);
      expect(pendingInvocationIds(await custodyOf('t-B'))).toEqual(['inv-b', 'inv-a']);
      expect(await ledger.custody.owingTaskIds()).toEqual(['t-B', 't-b']);
    });

    it('answers for many tasks at one moment', async () => {
      const { ledger } = await open(started('run-1', 't-1'), started('run-2', 't-2'));

      const custodies = await ledger.custody.tasks(['t-2', 't-none', 't-1']);

      expect([...custodies].map(([id, custody]) => [id, openRunIds(custody)])).toEqual([
        ['t-2', ['run-2']],
        ['t-none', []],
        ['t-1', ['run-1']],
      ]);
    });

    it('answers for a task the same, whoever is asked for beside it', async () => {
      const { ledger, custodyOf } = await open(
        event('run.closed_absent', { run_id: 'run-1', task_id: 't-1' }),
        started('run-1', 't-2'),
      );

      const together = await ledger.custody.tasks(['t-1', 't-2']);

      for (const id of ['t-1', 't-2']) expect(together.get(id)).toEqual(await custodyOf(id));
      expect(together.get('t-2')?.foreign_runs).toEqual([]);
    });

    it('totals what is owed, and since when', async () => {
      const { ledger } = await open(
        started('run-1', 't-1', { at: '2026-03-01T00:00:03.000Z' }),
        started('run-2', 't-2', { at: '2026-03-01T00:00:02.000Z', snapshot_id: 's-2' }),
        requested('inv-1', 't-1', { at: '2026-03-01T00:00:04.000Z' }),
      );
      expect(await ledger.custody.totals()).toEqual({
        events: 3,
        runs: 2,
        open_runs: 2,
        pending_invocations: 1,
        undisposed_patches: 0,
        oldest_unreconciled_at: '2026-03-01T00:00:02.000Z',
      });

      expect(await ledger.custody.debts()).toEqual({
        open_runs: 2,
        pending_invocations: 1,
        undisposed_patches: 0,
        oldest_unreconciled_at: '2026-03-01T00:00:02.000Z',
      });

      await ledger.append([settled('run-2', { at: '2026-03-01T00:00:09.000Z' })]);

      expect(await ledger.custody.totals()).toEqual({
        events: 4,
        runs: 2,
        open_runs: 1,
        pending_invocations: 1,
        undisposed_patches: 1,
        oldest_unreconciled_at: '2026-03-01T00:00:03.000Z',
      });
    });

    it('F10: keeps the body of a request, so that it could be sent again', async () => {
      const body = { prompt: 'do it', access: 'workspace_write', n: 1.5, list: [null, { deep: 'ü' }] };
      const { ledger } = await open(requested('inv-1', 't-1', { request: body, route: 'codex' }));

      const invocation = await ledger.custody.invocation('inv-1');

      expect(invocation?.request_row).toMatchObject({
        request: body,
        route: 'codex',
        idempotency_key: 'inv-1',
      });
    });
  });
}

function permutations<T>(items: readonly T[]): readonly (readonly T[])[] {
  if (items.length <= 1) return [items];
  return items.flatMap((item, index) =>
    permutations([...items.slice(0, index), ...items.slice(index + 1)]).map((rest) => [item, ...rest]),
  );
}
