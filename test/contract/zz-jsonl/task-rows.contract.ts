import type { LoadedRow, RowUpdate, TaskRow, TaskRows } from '@custody/ledger';
import { compareCodePoints } from '@custody/ledger';
import { describe, expect, it } from 'vitest';
import { rowOf } from '../../support/row.ts';

/** Rows that a reconciler heals, wherever they are kept, and how their orchestrator writes them. */
export interface RowsUnderTest {
  readonly rows: TaskRows;
  /** Writes a row as the orchestrator does. */
  put(row: TaskRow): Promise<void>;
}

/**
 * What the reconciler needs of rows. An orchestrator that keeps rows in a database of its own runs this suite
 * on its port.
 */
export function describeTaskRows(name: string, open: () => Promise<RowsUnderTest>): void {
  async function openWith(...rows: readonly TaskRow[]) {
    const under = await open();
    for (const row of rows) await under.put(row);
    return under;
  }

  const failed = (taskId: string, list: readonly string[] = ['run-1']) =>
    rowOf(taskId, {
      status: 'failed',
      reason_code: 'provider_unavailable',
      delegated_runs_unreconciled: list,
    });

  describe(`healing rows in ${name}`, () => {
    it('loads a row with its version, and null where there is none', async () => {
      const { rows } = await openWith(failed('t-1'));

      const loaded = await rows.load('t-1');

      expect(loaded?.row.value).toMatchObject({ task_id: 't-1', status: 'failed' });
      expect(loaded?.version).toEqual(expect.any(String));
      expect(await rows.load('t-none')).toBeNull();
    });

    it('writes live fields and nothing else', async () => {
      const { rows } = await openWith(failed('t-1'));
      const before = await loadOrFail(rows, 't-1');

      const results = await rows.update([
        {
          ...updateOf(before),
          live: {
            delegated_runs_unreconciled: [],
            delegate_terminal_reconciliation: { trigger: 'boot_backfill', open_run_ids: [] },
          },
        },
      ]);

      expect(results).toMatchObject([{ outcome: 'updated' }]);
      const after = await loadOrFail(rows, 't-1');
      expect(after.version).not.toBe(before.version);
      expect(after.row.value).toEqual({
        ...before.row.value,
        delegated_runs_unreconciled: [],
        delegate_terminal_reconciliation: { trigger: 'boot_backfill', open_run_ids: [] },
      });
    });

    it('leaves live fields that the update doesn’t name', async () => {
      const { rows } = await openWith(failed('t-1', ['run-1', 'run-2']));
      const before = await loadOrFail(rows, 't-1');

      await rows.update([
        { ...updateOf(before), live: { delegate_terminal_reconciliation: { trigger: 'x' } } },
      ]);

      const { value } = (await loadOrFail(rows, 't-1')).row;
      expect(value['delegated_runs_unreconciled']).toEqual(['run-1', 'run-2']);
      expect(value).not.toHaveProperty('actual_substrate');
      expect(value).not.toHaveProperty('subagent_envelope');
    });

    it('refuses a version that is no longer the row’s, and changes nothing then', async () => {
      const { rows, put } = await openWith(failed('t-1'));
      const before = await loadOrFail(rows, 't-1');
      await put(rowOf('t-1', { status: 'failed', note: 'added meanwhile' }));
      const meanwhile = await loadOrFail(rows, 't-1');

      const results = await rows.update([{ ...updateOf(before), live: { delegated_runs_unreconciled: [] } }]);

      expect(results).toEqual([{ outcome: 'changed_meanwhile' }]);
      expect(await loadOrFail(rows, 't-1')).toEqual(meanwhile);
    });

    it('lets one of two updates of the same version win', async () => {
      const { rows } = await openWith(failed('t-1'));
      const before = await loadOrFail(rows, 't-1');
      const update = (token: string) => ({
        ...updateOf(before),
        live: { delegated_runs_unreconciled: [token] },
      });

      const [[first], [second]] = await Promise.all([rows.update([update('a')]), rows.update([update('b')])]);

      expect(new Set([first?.outcome, second?.outcome])).toEqual(new Set(['updated', 'changed_meanwhile']));
    });

    it('one row that is gone or changed never stops the others', async () => {
      const { rows } = await openWith(failed('t-1'), failed('t-2'), failed('t-3'));
      const loaded = await Promise.all(['t-1', 't-2', 't-3'].map((id) => loadOrFail(rows, id)));
      const updates = loaded.map((item) => ({
        ...updateOf(item),
        live: { delegated_runs_unreconciled: [] },
      }));

      const results = await rows.update([
        { ...updates[0], task_id: 't-none' } as RowUpdate,
        { ...updates[1], expected_version: 'another' } as RowUpdate,
        updates[2] as RowUpdate,
      ]);

      expect(results.map((result) => result.outcome)).toEqual(['gone', 'changed_meanwhile', 'updated']);
      expect(await rows.load('t-none')).toBeNull();
      expect((await loadOrFail(rows, 't-3')).row.value['delegated_runs_unreconciled']).toEqual([]);
    });

    it('takes no update for an answer to nothing', async () => {
      const { rows } = await openWith();

      expect(await rows.update([])).toEqual([]);
    });

    it('selects terminal rows that were not confirmed, by code point', async () => {
      const { rows } = await openWith(
        failed('t-b'),
        rowOf('t-run', { status: 'running' }),
        failed('t-B'),
        rowOf('t-a', { status: 'completed' }),
      );

      const selected = await rows.selectStale();

      // A superset is allowed, a missing row is not.
      expect(selected).toEqual(expect.arrayContaining(['t-B', 't-a', 't-b']));
      expect(selected).not.toContain('t-run');
      expect(selected).toEqual([...selected].sort(compareCodePoints));
    });

    it('selects a row again after it changed', async () => {
      const { rows, put } = await openWith(failed('t-1'));
      const before = await loadOrFail(rows, 't-1');
      await rows.confirm?.([{ task_id: 't-1', version: before.version, custody_seq: 0 }]);

      await put(rowOf('t-1', { status: 'failed', note: 'new' }));

      expect(await rows.selectStale()).toEqual(['t-1']);
    });
  });
}

/** An update of the version that was loaded, of a task without events. */
export function updateOf(loaded: LoadedRow, custodySeq = 0): RowUpdate {
  const taskId = loaded.row.task_id;
  return {
    task_id: taskId,
    expected_version: loaded.version,
    custody_seq: custodySeq,
    live: {},
    confirms: true,
    evidence: { type: 'custody.reconciled', task_id: taskId, trigger: 'sweep_refresh', outcome_count: 0 },
  };
}

/** The row, which must be there. */
export async function loadOrFail(rows: Pick<TaskRows, 'load'>, taskId: string): Promise<LoadedRow> {
  const loaded = await rows.load(taskId);
  if (loaded === null) throw new Error(`there is no row ${taskId}`);
  return loaded;
}
