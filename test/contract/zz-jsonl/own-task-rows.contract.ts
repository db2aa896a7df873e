import type { Ledger, RowProblem } from '@custody/ledger';
import { compareCodePoints, parseTaskRow } from '@custody/ledger';
import { describe, expect, it } from 'vitest';
import { collect } from '../../support/collect.ts';
import { settled, started } from '../../support/events.ts';
import { manualClock } from '../../support/manual-clock.ts';
import { rowFromText, rowOf } from '../../support/row.ts';
import { snapshotOf } from './snapshot.ts';
import type { StoreKind } from './stores.ts';
import { loadOrFail, updateOf } from './task-rows.contract.ts';

/** What a store adds for rows that it keeps itself: the terminal write guard, and rows beside the log. */
export function describeOwnTaskRows(store: StoreKind): void {
  async function open(): Promise<Ledger> {
    return (await store.open({ clock: manualClock() })).ledger;
  }

  const put = (ledger: Ledger, taskId: string, fields: Parameters<typeof rowOf>[1]) =>
    ledger.rows.put([rowOf(taskId, fields)]);

  describe(`writing rows to ${store.name}`, () => {
    it('merges new fields over old ones, keeps the first ts and stamps updated_at', async () => {
      const clock = manualClock();
      const { ledger } = await store.open({ clock });
      await put(ledger, 't-1', { status: 'running', a: 1, b: 1 });
      clock.advance(1000);

      const [result] = await put(ledger, 't-1', { status: 'running', b: 2, c: 3, ts: 'ignored' });

      expect(result).toEqual({ outcome: 'written', task_id: 't-1' });
      expect((await loadOrFail(ledger.rows, 't-1')).row.value).toEqual({
        task_id: 't-1',
        status: 'running',
        a: 1,
        b: 2,
        c: 3,
        ts: '2026-03-01T00:00:00.000Z',
        updated_at: '2026-03-01T00:00:01.000Z',
      });
    });

    it('writes nothing when a row says nothing new, whatever its order and spacing', async () => {
      const ledger = await open();
      await ledger.rows.put([
        rowFromText('{"task_id":"t-1","status":"failed","deep":{"a":[1,2],"n":12345678901234567890}}'),
      ]);
      const before = await snapshotOf(ledger);

      const results = await ledger.rows.put([
        rowFromText(
          '{ "deep": { "n": 12345678901234567890, "a": [ 1, 2 ] },\n "status": "failed", "task_id": "t-1" }',
        ),
      ]);

      expect(results).toEqual([{ outcome: 'unchanged', task_id: 't-1' }]);
      expect(await snapshotOf(ledger)).toEqual(before);
    });

    it('4.6: takes only its own status and new fields for a terminal row, and names what it refuses', async () => {
      const ledger = await open();
      await put(ledger, 't-1', { status: 'failed', result: 'a', error: 'e', envelope: { x: 1 } });
      const before = await snapshotOf(ledger);

      const refused = await put(ledger, 't-1', {
        status: 'completed',
        result: 'b',
        error: 'e',
        envelope: { x: 2 },
        extra: true,
      });

      expect(refused).toEqual([
        {
          outcome: 'refused',
          reason: 'row_frozen',
          task_id: 't-1',
          fields: ['status', 'result', 'envelope'],
        },
      ]);
      expect(await snapshotOf(ledger)).toEqual(before);

      expect(await put(ledger, 't-1', { status: 'failed', extra: true })).toMatchObject([
        { outcome: 'written' },
      ]);
      expect((await loadOrFail(ledger.rows, 't-1')).row.value).toMatchObject({ result: 'a', extra: true });
      expect(await put(ledger, 't-1', { status: 'failed', extra: false })).toMatchObject([
        { outcome: 'refused', fields: ['extra'] },
      ]);
    });

    it('4.6: never lets an old copy undo a heal', async () => {
      const ledger = await open();
      const original = {
        status: 'failed',
        delegated_runs_unreconciled: ['run-1'],
        actual_substrate: 'harness_attempted',
        subagent_envelope: {
          executor_route: 'claude',
          actual_substrate: 'harness_attempted',
          execution_evidence: { delegated_runs_settled: 0 },
        },
      };
      await put(ledger, 't-1', original);
      const loaded = await loadOrFail(ledger.rows, 't-1');
      await ledger.rows.update([{ ...updateOf(loaded), live: healedFields() }]);
      const healed = (await loadOrFail(ledger.rows, 't-1')).row.value;

      const results = await put(ledger, 't-1', { ...original, extra: 1 });

      expect(results).toMatchObject([{ outcome: 'written' }]);
      expect((await loadOrFail(ledger.rows, 't-1')).row.value).toEqual({ ...healed, extra: 1 });
      expect(healed).toMatchObject({
        delegated_runs_unreconciled: [],
        actual_substrate: 'harness_used',
        subagent_envelope: {
          executor_route: 'claude',
          actual_substrate: 'harness_used',
          execution_evidence: { delegated_runs_succeeded: 1, subscription_cost_usd: 1.25 },
        },
      });
    });

    it.each([
      ['requested', 'refused'],
      ['scheduled', 'refused'],
      ['running', 'refused'],
      ['interrupted', 'refused'],
      ['cancel_requested', 'unchanged'],
      ['cancelled', 'written'],
      ['completed', 'written'],
      ['a status of its own', 'written'],
    ])('4.6: a row that is to be cancelled answers the status %s with %s', async (status, outcome) => {
      const ledger = await open();
      await put(ledger, 't-1', { status: 'cancel_requested' });

      expect(await put(ledger, 't-1', { status })).toMatchObject([{ outcome, task_id: 't-1' }]);
    });

    it('4.6: below that, a status may go anywhere', async () => {
      const ledger = await open();

      for (const status of ['running', 'requested', 'interrupted', 'scheduled', 'odd', 'cancel_requested']) {
        expect(await put(ledger, 't-1', { status })).toMatchObject([{ outcome: 'written' }]);
      }
    });

    it('merges each row of a batch on its own, a refused one too', async () => {
      const ledger = await open();
      await put(ledger, 't-1', { status: 'failed' });

      const results = await ledger.rows.put([
        rowOf('t-0', { status: 'running' }),
        rowOf('t-1', { status: 'running' }),
        rowOf('t-0', { status: 'completed' }),
      ]);

      expect(results.map((result) => result.outcome)).toEqual(['written', 'refused', 'written']);
      expect((await loadOrFail(ledger.rows, 't-0')).row.status).toBe('completed');
    });

    it('lists rows by task id, on demand of one status', async () => {
      const ledger = await open();
      const problems: RowProblem[] = [];
      for (let index = 0; index < 600; index += 1) {
        await put(ledger, `t-${String(index).padStart(3, '0')}`, {
          status: index % 2 === 0 ? 'failed' : 'running',
        });
      }

      const all = await collect(ledger.rows.list({ onProblem: (problem) => problems.push(problem) }));
      const failed = await collect(ledger.rows.list({ status: 'failed' }));

      const ids = all.map(({ row }) => row.task_id);
      expect(ids).toHaveLength(600);
      expect(ids).toEqual([...ids].sort(compareCodePoints));
      expect(failed).toHaveLength(300);
      expect(failed.every(({ row }) => row.status === 'failed')).toBe(true);
      expect(problems).toEqual([]);
    });
  });

  describe(`foreign values in rows of ${store.name}`, () => {
    const FOREIGN: readonly (readonly [string, string])[] = [
      ['x_big', '123456789012345678901234567890'],
      ['x_float', '1.0'],
      ['x_tiny', '-0.0'],
      ['x_huge', '1e400'],
      ['', '"the empty key"'],
      ['__proto__', '{"polluted":true}'],
      ['constructor', 'null'],
      ['x_lone', String.raw`"a\ud800b"`],
      ['x_escape', String.raw`"\u00e4\/\u0000"`],
      ['x_deep', '{ "__proto__" : [ 1e400 , 12345678901234567890 ] , "" : {} }'],
      ['7', '"a number as a key"'],
    ];
    const text = `{"task_id":"t-1","status":"failed",${FOREIGN.map(([key, value]) => `${JSON.stringify(key)}:${value}`).join(',')},"x_twice":1,"x_twice":{"last":2.50}}`;

    it('ruling 2: survive the write, a heal and a later write exactly', async () => {
      const ledger = await open();
      await ledger.rows.put([parseTaskRow(text)]);
      const loaded = await loadOrFail(ledger.rows, 't-1');
      await ledger.rows.update([{ ...updateOf(loaded), live: healedFields() }]);
      await put(ledger, 't-1', { status: 'failed', later: true });

      const { row } = await loadOrFail(ledger.rows, 't-1');

      for (const [key, value] of FOREIGN) expect([key, row.raw.get(key)]).toEqual([key, value]);
      expect(row.raw.get('x_twice')).toBe('{"last":2.50}');
      expect(row.value).toMatchObject({ later: true, delegated_runs_unreconciled: [] });
      expect(({} as { polluted?: unknown }).polluted).toBeUndefined();
    });

    it('ruling 2: can’t be changed unnoticed where a double would not see it', async () => {
      const ledger = await open();
      await ledger.rows.put([parseTaskRow('{"task_id":"t-1","status":"failed","n":9007199254740993}')]);

      const results = await ledger.rows.put([
        parseTaskRow('{"task_id":"t-1","status":"failed","n":9007199254740992}'),
      ]);

      expect(results).toMatchObject([{ outcome: 'refused', fields: ['n'] }]);
    });
  });

  describe(`rows beside the log of ${store.name}`, () => {
    it('records the evidence of an update as the newest event', async () => {
      const ledger = await open();
      await ledger.append([started('run-1', 't-1')]);
      await put(ledger, 't-1', { status: 'failed', delegated_runs_unreconciled: [] });
      const loaded = await loadOrFail(ledger.rows, 't-1');

      const results = await ledger.rows.update([
        {
          ...updateOf(loaded, 1),
          live: { delegated_runs_unreconciled: ['run-1'] },
          evidence: {
            type: 'custody.unreconciled',
            task_id: 't-1',
            trigger: 'boot_backfill',
            run_ids: ['run-1'],
          },
        },
      ]);

      expect(results).toEqual([{ outcome: 'updated', evidence: 'recorded' }]);
      const events = await collect(ledger.read({ taskId: 't-1', type: 'custody.unreconciled' }));
      expect(events.map((item) => item.event)).toMatchObject([
        { seq: 2, trigger: 'boot_backfill', run_ids: ['run-1'] },
      ]);
    });

    it('writes no evidence for an update that was refused', async () => {
      const ledger = await open();
      await put(ledger, 't-1', { status: 'failed' });
      const loaded = await loadOrFail(ledger.rows, 't-1');

      await ledger.rows.update([
        { ...updateOf(loaded), expected_version: 'another', live: { delegated_runs_unreconciled: [] } },
      ]);

      expect(await collect(ledger.read())).toEqual([]);
    });

    it('refuses an update that was planned before the task’s newest event', async () => {
      const ledger = await open();
      await ledger.append([started('run-1', 't-1')]);
      await put(ledger, 't-1', { status: 'failed' });
      const loaded = await loadOrFail(ledger.rows, 't-1');
      await ledger.append([settled('run-1')]);
      const before = await snapshotOf(ledger);

      const results = await ledger.rows.update([
        { ...updateOf(loaded, 1), live: { delegated_runs_unreconciled: ['run-1'] } },
      ]);

      expect(results).toEqual([{ outcome: 'changed_meanwhile' }]);
      expect(await snapshotOf(ledger)).toEqual(before);
    });

    it('lets a selection skip confirmed rows until the row or its task changes', async () => {
      const ledger = await open();
      await ledger.append([started('run-1', 't-1')]);
      await put(ledger, 't-1', { status: 'failed' });
      await put(ledger, 't-2', { status: 'completed' });
      const { version } = await loadOrFail(ledger.rows, 't-1');
      expect(await ledger.rows.selectStale()).toEqual(['t-1', 't-2']);

      await ledger.rows.confirm?.([{ task_id: 't-1', version, custody_seq: 1 }]);
      expect(await ledger.rows.selectStale()).toEqual(['t-2']);

      await ledger.append([settled('run-1')]);
      expect(await ledger.rows.selectStale()).toEqual(['t-1', 't-2']);
    });

    it.each([
      ['an older version', { version: '0', custody_seq: 1 }],
      ['an older place in the log', { version: null, custody_seq: 0 }],
    ])('does not take a confirmation of %s', async (_case, { version, custody_seq }) => {
      const ledger = await open();
      await ledger.append([started('run-1', 't-1')]);
      await put(ledger, 't-1', { status: 'failed' });
      const loaded = await loadOrFail(ledger.rows, 't-1');

      await ledger.rows.confirm?.([{ task_id: 't-1', version: version ?? loaded.version, custody_seq }]);

      expect(await ledger.rows.selectStale()).toEqual(['t-1']);
    });

    it('confirms with the update itself, unless the update says not to', async () => {
      const ledger = await open();
      for (const id of ['t-1', 't-2']) await put(ledger, id, { status: 'failed' });
      const [first, second] = await Promise.all([
        loadOrFail(ledger.rows, 't-1'),
        loadOrFail(ledger.rows, 't-2'),
      ]);

      await ledger.rows.update([
        { ...updateOf(first), live: { delegated_runs_unreconciled: [] } },
        { ...updateOf(second), live: { delegated_runs_unreconciled: [] }, confirms: false },
      ]);

      expect(await ledger.rows.selectStale()).toEqual(['t-2']);
    });

    it('selects the owner’s row when an event names the run only', async () => {
      const ledger = await open();
      await ledger.append([started('run-1', 't-1')]);
      await put(ledger, 't-1', { status: 'failed' });
      const { version } = await loadOrFail(ledger.rows, 't-1');
      await ledger.rows.confirm?.([{ task_id: 't-1', version, custody_seq: 1 }]);

      await ledger.append([{ type: 'patch.captured', run_id: 'run-1' }]);

      expect(await ledger.rows.selectStale()).toEqual(['t-1']);
    });
  });
}

/** The live fields of a task whose only run succeeded for 1.25 USD. */
function healedFields() {
  return {
    delegated_runs_unreconciled: [],
    delegate_terminal_reconciliation: { trigger: 'sweep_refresh', audit_status: 'ok' },
    execution: {
      substrate: 'harness_used',
      evidence: {
        delegated_runs_started: 1,
        delegated_runs_settled: 1,
        delegated_runs_succeeded: 1,
        delegated_runs_failed: 0,
        delegated_runs_source_unresolved: 0,
        delegated_run_failure_states: [],
        subscription_cost_usd: 1.25,
        subscription_cost_estimated: false,
        harness_models: ['claude-x'],
        applied_access_profiles: [],
        evidence_read_failed: false,
        nanny_nudge_recorded: false,
        delegate_start_attempted: true,
      },
    },
  } as const;
}
