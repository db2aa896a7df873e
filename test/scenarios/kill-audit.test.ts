import type { Ledger } from '@custody/ledger';
import { openLedger } from '@custody/ledger';
import type { BoundaryOptions, RunGateway } from '@custody/reconciler';
import {
  auditBoundary,
  auditLoopExit,
  createReconciler,
  mayStillBeLive,
  recordBoundary,
} from '@custody/reconciler';
import { describe, expect, test } from 'vitest';
import { STORES } from '../contract/stores.ts';
import { requested, settled, started } from '../support/events.ts';
import { AWAY, ended, executor, LIVE } from '../support/executor.ts';
import { failingLedger } from '../support/failing-ledger.ts';
import { eventsOf, typesOf } from '../support/log.ts';
import { envelopeOf, failedRow, listOf, putRow, rowOf } from '../support/terminal-rows.ts';

function boundary(ledger: Ledger, taskId: string, gateway: RunGateway, more: Partial<BoundaryOptions> = {}) {
  return auditBoundary({ ledger, rows: ledger.rows }, taskId, { gateway: () => gateway, ...more });
}

/** The executor of a task whose invocation it has never heard of and can't judge. */
function away() {
  const daemon = executor();
  daemon.startAnswers.push({ outcome: 'unknown', reason: 'timeout' });
  return daemon;
}

describe.each(STORES)('the audit where a task ends, on $name', (kind) => {
  test('A2: an empty task id fails closed, and nothing is asked or written', async () => {
    const { ledger } = await kind.open();
    await ledger.append([started('run-1', 't-1')]);
    const before = await ledger.head();
    const daemon = executor();

    const found = await boundary(ledger, '', daemon);
    const recorded = await recordBoundary(ledger, found);

    expect(found.audit).toEqual({
      task_id: '',
      trigger: 'terminal_boundary',
      outcomes: [],
      audit_status: 'failed',
      unreconciled: ['delegated_run_state_unknown:missing_task_id'],
    });
    expect(recorded).toEqual({ outcome: 'unchanged' });
    expect(daemon.lookups).toEqual([]);
    expect(await ledger.head()).toEqual(before);
  });

  test('A3: a task without a row that owes something gets one, running, with its debts', async () => {
    const { ledger } = await kind.open();
    await ledger.append([requested('inv-1', 't-1')]);

    const recorded = await recordBoundary(ledger, await boundary(ledger, 't-1', away()));

    expect(recorded).toEqual({ outcome: 'recorded', minted: true });
    expect(await rowOf(ledger, 't-1')).toMatchObject({
      task_id: 't-1',
      status: 'running',
      delegated_runs_unreconciled: ['invocation:inv-1'],
      delegate_terminal_reconciliation: {
        trigger: 'terminal_boundary',
        audit_status: 'ok',
        pending_invocation_ids: ['inv-1'],
      },
    });
  });

  test('A3: a task without a row that owes nothing gets none', async () => {
    const { ledger } = await kind.open();
    await ledger.append([started('run-1', 't-1'), settled('run-1')]);

    const clean = await boundary(ledger, 't-0', executor());

    expect(clean).toMatchObject({ audit: { audit_status: 'ok', unreconciled: [] }, evidence: 'recorded' });
    expect(await recordBoundary(ledger, clean)).toEqual({ outcome: 'unchanged' });
    expect(await ledger.rows.load('t-0')).toBeNull();
  });

  test('P8: no healer mints a row for the same debts', async () => {
    const { ledger } = await kind.open();
    await ledger.append([requested('inv-1', 't-1')]);
    const reconciler = createReconciler(ledger, { liveTaskIds: [] });

    await reconciler.backfill();
    await reconciler.sweep();
    const cleared = await reconciler.clear('t-1');

    expect(cleared).toMatchObject({ refreshed: false });
    expect(await ledger.rows.load('t-1')).toBeNull();
  });

  test('3: the task’s runs are reconciled first, and the audit carries what became of them', async () => {
    const { ledger } = await kind.open();
    await ledger.append([started('run-1', 't-1'), started('run-2', 't-1'), started('run-other', 't-2')]);
    const daemon = executor({ 'run-1': ended(), 'run-2': LIVE });

    const { audit, evidence, reconcile_error } = await boundary(ledger, 't-1', daemon);

    expect(daemon.lookups).toEqual(['run-1', 'run-2']);
    expect(audit).toMatchObject({
      audit_status: 'ok',
      open_run_ids: ['run-2'],
      unreconciled: ['run-2'],
      terminal_runs: [{ run_id: 'run-1', state: 'succeeded' }],
      outcomes: [
        { run_id: 'run-1', action: 'settle_attempted', settled: true },
        { run_id: 'run-2', action: 'left_live' },
      ],
    });
    expect({ evidence, reconcile_error }).toEqual({ evidence: 'recorded', reconcile_error: null });
  });

  test('V8: a dirty kill audit writes one evidence event, with the lists', async () => {
    const { ledger } = await kind.open();
    await ledger.append([started('run-1', 't-1')]);

    await boundary(ledger, 't-1', executor({ 'run-1': AWAY }), { trigger: 'cancel_publication' });

    expect(await eventsOf(ledger, 'custody.unreconciled', 'custody.reconciled')).toMatchObject([
      {
        type: 'custody.unreconciled',
        task_id: 't-1',
        trigger: 'cancel_publication',
        run_ids: ['run-1'],
        audit_status: 'ok',
        open_run_ids: ['run-1'],
        pending_invocation_ids: [],
        undisposed_patch_run_ids: [],
      },
    ]);
  });

  test('3: a clean audit writes one evidence event that counts its outcomes', async () => {
    const { ledger } = await kind.open();
    await ledger.append([started('run-1', 't-1')]);

    await boundary(ledger, 't-1', executor({ 'run-1': ended() }), { trigger: 'reaper_idle_timeout' });

    expect(await eventsOf(ledger, 'custody.unreconciled', 'custody.reconciled')).toMatchObject([
      { type: 'custody.reconciled', task_id: 't-1', trigger: 'reaper_idle_timeout', outcome_count: 1 },
    ]);
  });

  test('7: an audit that breaks says so in its list, and its evidence has the flavor', async () => {
    const { ledger } = await kind.open();
    await ledger.append([started('run-1', 't-1')]);
    const broken: Ledger = {
      ...ledger,
      custody: { ...ledger.custody, tasks: () => Promise.reject(new Error('I/O error')) },
    };

    const found = await boundary(broken, 't-1', executor(), { trigger: 'cancel_publication' });

    expect(found).toMatchObject({
      audit: { audit_status: 'failed', unreconciled: ['delegated_run_state_unknown:audit_failed'] },
      reconcile_error: 'I/O error',
      evidence: 'recorded',
    });
    expect(found.audit).not.toHaveProperty('open_run_ids');
    expect(await eventsOf(ledger, 'custody.unreconciled')).toMatchObject([
      { flavor: 'audit_failed', run_ids: ['delegated_run_state_unknown:audit_failed'] },
    ]);
  });

  test('7: with a log that can not be read the audit fails closed and no run is asked for', async () => {
    const { ledger } = await kind.open();
    await ledger.append([started('run-1', 't-1')]);
    const unreadable: Ledger = { ...ledger, custody: { ...ledger.custody, isReadable: async () => false } };
    const daemon = executor();

    const found = await boundary(unreadable, 't-1', daemon);

    expect(found.audit).toMatchObject({
      unreconciled: ['delegated_run_state_unknown:custody_log_unreadable'],
      outcomes: [],
    });
    expect(daemon.lookups).toEqual([]);
  });

  test('3: evidence that the log does not take is told, and the audit stands', async () => {
    const { ledger } = await kind.open();
    await ledger.append([started('run-1', 't-1')]);
    const failing = failingLedger(ledger, (event) => event.type.startsWith('custody.'));

    expect(await boundary(failing, 't-1', executor({ 'run-1': AWAY }))).toMatchObject({
      evidence: 'missing',
      audit: { audit_status: 'ok', unreconciled: ['run-1'] },
    });
  });

  test('8.1: the verdict that a killer is about to write stops the task’s runs', async () => {
    const { ledger } = await kind.open();
    await ledger.append([started('run-1', 't-1')]);
    await putRow(ledger, { task_id: 't-1', status: 'running' });
    const daemon = executor({ 'run-1': LIVE });
    daemon.onCancel = (runId) => daemon.runs.set(runId, ended({ state: 'cancelled' }));

    const { audit } = await boundary(ledger, 't-1', daemon, {
      trigger: 'cancel_publication',
      verdict: 'cancelled',
    });

    expect(daemon.cancels).toEqual([['run-1', 'owner_task_gone']]);
    expect(audit).toMatchObject({
      unreconciled: [],
      terminal_runs: [{ run_id: 'run-1', state: 'cancelled' }],
    });
  });

  test('loop exit: a row that has not ended keeps its status and gets list and envelope', async () => {
    const { ledger } = await kind.open();
    await ledger.append([started('run-1', 't-1')]);
    await putRow(ledger, { task_id: 't-1', status: 'scheduled', title: 'mow' });
    const options = { gateway: () => executor({ 'run-1': AWAY }) };

    const exit = await auditLoopExit({ ledger, rows: ledger.rows }, 't-1', options);
    const version = (await ledger.rows.load('t-1'))?.version;
    const again = await auditLoopExit({ ledger, rows: ledger.rows }, 't-1', options);

    expect(exit.record).toEqual({ outcome: 'recorded', minted: false });
    expect(exit.event['id']).toMatch(/^boundary:/);
    expect(await rowOf(ledger, 't-1')).toMatchObject({
      status: 'scheduled',
      title: 'mow',
      delegated_runs_unreconciled: ['run-1'],
    });
    expect(await envelopeOf(ledger, 't-1')).toMatchObject({ trigger: 'loop_exit', open_run_ids: ['run-1'] });
    expect(again.record).toEqual({ outcome: 'unchanged' });
    expect((await ledger.rows.load('t-1'))?.version).toBe(version);
  });

  test('V8: the row of a task that goes on is written with the same event, not with a second one', async () => {
    const { ledger } = await kind.open();
    await ledger.append([started('run-1', 't-1')]);
    await putRow(ledger, { task_id: 't-1', status: 'running' });

    const { record } = await auditLoopExit({ ledger, rows: ledger.rows }, 't-1', {
      gateway: () => executor({ 'run-1': AWAY }),
    });

    expect(record).toEqual({ outcome: 'recorded', minted: false });
    expect(await eventsOf(ledger, 'custody.unreconciled')).toHaveLength(1);
  });

  test('V3: an audit that fails closed keeps the last list that was known in the envelope', async () => {
    const { ledger } = await kind.open();
    await ledger.append([started('run-1', 't-1')]);
    await putRow(ledger, { task_id: 't-1', status: 'running', delegated_runs_unreconciled: ['run-1'] });
    const unreadable: Ledger = { ...ledger, custody: { ...ledger.custody, isReadable: async () => false } };

    await recordBoundary(unreadable, await boundary(unreadable, 't-1', executor()));

    expect(await listOf(ledger, 't-1')).toEqual(['delegated_run_state_unknown:custody_log_unreadable']);
    expect(await envelopeOf(ledger, 't-1')).toMatchObject({
      audit_status: 'failed',
      last_known_unreconciled: ['run-1'],
    });
  });

  test('a run that settles between the audit and its record is not disclosed as open', async () => {
    const { ledger } = await kind.open();
    await ledger.append([started('run-1', 't-1')]);
    await putRow(ledger, { task_id: 't-1', status: 'running' });
    const found = await boundary(ledger, 't-1', executor({ 'run-1': AWAY }));
    await ledger.append([settled('run-1')]);

    expect(await recordBoundary(ledger, found)).toEqual({ outcome: 'recorded', minted: false });
    expect(await rowOf(ledger, 't-1')).toMatchObject({
      status: 'running',
      delegated_runs_unreconciled: [],
      delegate_terminal_reconciliation: { terminal_runs: [{ run_id: 'run-1' }] },
    });
  });

  test('a row that has ended takes the audit as a heal: live fields only', async () => {
    const { ledger } = await kind.open();
    await ledger.append([started('run-1', 't-1')]);
    await putRow(ledger, failedRow('t-1', ['run-stale'], { result: 'gave up' }));

    const recorded = await recordBoundary(ledger, await boundary(ledger, 't-1', executor({ 'run-1': AWAY })));

    expect(recorded).toEqual({ outcome: 'recorded', minted: false });
    expect(await rowOf(ledger, 't-1')).toMatchObject({
      status: 'failed',
      reason_code: 'provider_unavailable',
      result: 'gave up',
    });
    expect(await listOf(ledger, 't-1')).toEqual(['run-1']);
  });

  test('a row that ends between the audit and its record keeps its end', async () => {
    const { ledger } = await kind.open();
    await ledger.append([started('run-1', 't-1')]);
    await putRow(ledger, {
      task_id: 't-1',
      status: 'running',
      delegated_runs_unreconciled: [],
      delegate_terminal_reconciliation: {},
    });
    const found = await boundary(ledger, 't-1', executor({ 'run-1': AWAY }));
    const rows: Ledger['rows'] = {
      ...ledger.rows,
      update: async (updates) => {
        if ((await rowOf(ledger, 't-1'))['status'] === 'running') {
          await putRow(ledger, { task_id: 't-1', status: 'completed', result: 'done' });
        }
        return ledger.rows.update(updates);
      },
    };

    await recordBoundary({ ...ledger, rows }, found);

    expect(await rowOf(ledger, 't-1')).toMatchObject({
      status: 'completed',
      result: 'done',
      delegated_runs_unreconciled: ['run-1'],
    });
  });
});

describe('the line for the owner', () => {
  test('A5: names what may be alive, whatever the outcome was', () => {
    expect(mayStillBeLive(['run-x', 'run-y'])).toBe('2 delegated run(s) may still be live: run-x, run-y');
  });

  test('A5: is empty when nothing may be alive', () => {
    expect(mayStillBeLive([])).toBe('');
    expect(mayStillBeLive([''])).toBe('');
  });

  test('A5: comes straight from an audit', async () => {
    const ledger = await openLedger('memory:');
    await ledger.append([started('run-x', 't-1'), started('run-y', 't-1')]);

    const { audit } = await boundary(ledger, 't-1', executor({ 'run-x': LIVE, 'run-y': LIVE }));

    expect(mayStillBeLive(audit.unreconciled)).toBe('2 delegated run(s) may still be live: run-x, run-y');
    expect(await typesOf(ledger)).toContain('custody.unreconciled');
  });
});
