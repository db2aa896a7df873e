import type { JsonObject, Ledger } from '@custody/ledger';
import type { BoundaryAudit, BoundaryOptions, RunGateway } from '@custody/reconciler';
import { auditBoundary, createReconciler, writeEnd } from '@custody/reconciler';
import { describe, expect, test } from 'vitest';
import { STORES } from '../contract/stores.ts';
import { settled, started } from '../support/events.ts';
import { AWAY, executor } from '../support/executor.ts';
import { envelopeOf, fingerprint, listOf, putRow, rowOf } from '../support/terminal-rows.ts';

function boundary(ledger: Ledger, taskId: string, gateway: RunGateway, more: Partial<BoundaryOptions> = {}) {
  return auditBoundary({ ledger, rows: ledger.rows }, taskId, { gateway: () => gateway, ...more });
}

describe.each(STORES)('the terminal write of a killer on $name', (kind) => {
  async function dirty(
    ledger: Ledger,
    trigger: NonNullable<BoundaryOptions['trigger']>,
  ): Promise<BoundaryAudit> {
    await ledger.append([started('run-1', 't-1')]);
    return boundary(ledger, 't-1', executor({ 'run-1': AWAY }), { trigger });
  }

  test('K4: is one write that carries the end, the list and the envelope', async () => {
    const { ledger } = await kind.open();
    await putRow(ledger, { task_id: 't-1', status: 'running', title: 'mow' });
    const audit = await dirty(ledger, 'cancel_publication');
    const writes: number[] = [];
    const counting: Ledger = {
      ...ledger,
      rows: {
        ...ledger.rows,
        put: (rows) => {
          writes.push(rows.length);
          return ledger.rows.put(rows);
        },
      },
    };

    const written = await writeEnd(
      counting,
      { task_id: 't-1', status: 'cancelled', reason_code: 'cancelled_by_owner' },
      audit,
    );

    expect(written).toEqual({ outcome: 'written' });
    expect(writes).toEqual([1]);
    const row: JsonObject = await rowOf(ledger, 't-1');
    expect(row).toMatchObject({
      status: 'cancelled',
      reason_code: 'cancelled_by_owner',
      title: 'mow',
      delegated_runs_unreconciled: ['run-1'],
      delegate_terminal_reconciliation: {
        trigger: 'cancel_publication',
        audit_status: 'ok',
        open_run_ids: ['run-1'],
      },
    });
  });

  test('K5: a reaper writes failed, with its own trigger in the envelope', async () => {
    const { ledger } = await kind.open();
    await putRow(ledger, { task_id: 't-1', status: 'running' });
    const audit = await dirty(ledger, 'reaper_idle_timeout');

    await writeEnd(ledger, { task_id: 't-1', status: 'failed', reason_code: 'idle_timeout' }, audit);

    expect(await rowOf(ledger, 't-1')).toMatchObject({
      status: 'failed',
      reason_code: 'idle_timeout',
      delegated_runs_unreconciled: ['run-1'],
      delegate_terminal_reconciliation: { trigger: 'reaper_idle_timeout' },
    });
  });

  test('K5: what the killer disclosed is healed like any other row once the run ends', async () => {
    const { ledger } = await kind.open();
    await putRow(ledger, { task_id: 't-1', status: 'running' });
    await writeEnd(ledger, { task_id: 't-1', status: 'failed' }, await dirty(ledger, 'reaper_idle_timeout'));
    await ledger.append([settled('run-1')]);

    expect(await createReconciler(ledger).clear('t-1')).toMatchObject({ refreshed: true });
    expect(await listOf(ledger, 't-1')).toEqual([]);
    expect(await envelopeOf(ledger, 't-1')).toMatchObject({ trigger: 'kill_path_clear' });
  });

  test('K3: a killer mints no row, and neither does the clear', async () => {
    const { ledger } = await kind.open();
    const audit = await dirty(ledger, 'cancel_publication');

    expect(await writeEnd(ledger, { task_id: 't-1', status: 'cancelled' }, audit)).toEqual({
      outcome: 'not_found',
    });
    expect(await createReconciler(ledger).clear('t-1')).toMatchObject({ refreshed: false });
    expect(await ledger.rows.load('t-1')).toBeNull();
  });

  test('7: a task that ended by itself keeps its row to the byte', async () => {
    const store = await kind.open();
    const { ledger } = store;
    await putRow(ledger, { task_id: 't-1', status: 'completed', result: 'done' });
    const audit = await dirty(ledger, 'cancel_publication');
    const before = await fingerprint(store);

    const written = await writeEnd(ledger, { task_id: 't-1', status: 'cancelled', result: 'killed' }, audit);

    expect(written).toEqual({ outcome: 'already_settled', status: 'completed' });
    expect(await fingerprint(store)).toEqual(before);
  });

  test('7: a task that ends by itself under the killer’s hand keeps its end', async () => {
    const { ledger } = await kind.open();
    await putRow(ledger, { task_id: 't-1', status: 'running' });
    const audit = await dirty(ledger, 'cancel_publication');
    const rows: Ledger['rows'] = {
      ...ledger.rows,
      put: async (put) => {
        await putRow(ledger, { task_id: 't-1', status: 'completed', result: 'done' });
        return ledger.rows.put(put);
      },
    };

    const written = await writeEnd(
      { ...ledger, rows },
      { task_id: 't-1', status: 'cancelled', result: 'killed' },
      audit,
    );

    expect(written).toEqual({ outcome: 'already_settled', status: 'completed' });
    expect(await rowOf(ledger, 't-1')).toMatchObject({ status: 'completed', result: 'done' });
  });
});
