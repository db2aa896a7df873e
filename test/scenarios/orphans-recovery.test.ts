import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { JsonObject, Ledger } from '@custody/ledger';
import { invocationState } from '@custody/ledger';
import type { OrphanOptions } from '@custody/reconciler';
import { createReconciler, fileRequestBodies, reconcileOrphans } from '@custody/reconciler';
import { describe, expect, onTestFinished, test } from 'vitest';
import { STORES } from '../contract/stores.ts';
import { requested, started } from '../support/events.ts';
import type { Executor } from '../support/executor.ts';
import { ended, executor, LIVE } from '../support/executor.ts';
import { failingLedger } from '../support/failing-ledger.ts';
import { eventsOf, typesOf } from '../support/log.ts';

function sweep(ledger: Ledger, daemon: Executor, more: Partial<OrphanOptions> = {}) {
  return reconcileOrphans({ ledger, rows: ledger.rows }, { live: [], gateway: () => daemon, ...more });
}

function temporaryFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), 'custody-bodies-'));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  return folder;
}

const FACTS: JsonObject = {
  route: 'codex',
  project_id: 'p-9',
  project_owned: true,
  snapshot_id: 'snap-9',
  capture_id: 'cap-9',
  baseline_sha: 'abc',
  root_task_id: 't-0',
};

describe.each(STORES)('recovering a pending invocation on $name', (kind) => {
  test('O6: an invocation whose owner is alive is left to its owner', async () => {
    const { ledger } = await kind.open();
    await ledger.append([requested('inv-1', 't-1')]);
    const daemon = executor();

    await sweep(ledger, daemon, { live: ['t-1'] });

    expect(daemon.posts).toEqual([]);
    expect(await ledger.custody.pendingInvocations()).toHaveLength(1);
  });

  test('O6: it is sent again with its own key and body, and the run that comes of it is settled', async () => {
    const { ledger } = await kind.open();
    await ledger.append([
      requested('inv-1', 't-1', {
        ...FACTS,
        request: { prompt: 'do it', model: 'm-1', access: 'workspace_write' },
      }),
    ]);
    const daemon = executor({ 'run-of-inv-1': ended() });

    const report = await sweep(ledger, daemon);
    const again = await sweep(ledger, daemon);

    expect(daemon.posts).toMatchObject([
      {
        invocation_id: 'inv-1',
        task_id: 't-1',
        request: { prompt: 'do it', model: 'm-1', access: 'workspace_write' },
        facts: { route: 'codex' },
      },
    ]);
    expect(report.outcomes).toMatchObject([
      {
        run_id: 'run-of-inv-1',
        invocation_id: 'inv-1',
        task_id: 't-1',
        action: 'settle_attempted',
        settled: true,
      },
    ]);
    expect(report.refresh).toEqual(['t-1']);
    expect(await typesOf(ledger)).toEqual([
      'run.start_requested',
      'run.started',
      'run.settled',
      'run.reconciled',
    ]);
    expect((await eventsOf(ledger, 'run.started'))[0]).toMatchObject({
      ...FACTS,
      run_id: 'run-of-inv-1',
      task_id: 't-1',
      invocation_id: 'inv-1',
      model: 'm-1',
      access: 'workspace_write',
      recovered_from_pending_invocation: true,
    });
    expect(again).toMatchObject({ outcomes: [], idle: 'nothing_selected' });
  });

  test('O6: the run that comes of it is left live when nobody meant its owner to end', async () => {
    const { ledger } = await kind.open();
    await ledger.append([requested('inv-1', 't-1')]);
    const daemon = executor();

    const report = await sweep(ledger, daemon);

    expect(report.outcomes).toMatchObject([
      { run_id: 'run-of-inv-1', invocation_id: 'inv-1', action: 'left_live' },
    ]);
    expect((await ledger.custody.openRuns()).map((run) => run.run_id)).toEqual(['run-of-inv-1']);
    expect(await ledger.custody.pendingInvocations()).toEqual([]);
  });

  test('O6: an executor that can not be asked leaves it pending, told once', async () => {
    const { ledger } = await kind.open();
    await ledger.append([requested('inv-1', 't-1')]);
    const daemon = executor();
    daemon.startAnswers.push(
      { outcome: 'unknown', reason: 'timeout' },
      { outcome: 'unknown', reason: 'HTTP 503' },
    );

    const first = await sweep(ledger, daemon);
    await sweep(ledger, daemon);

    expect(first.outcomes).toEqual([
      { invocation_id: 'inv-1', task_id: 't-1', action: 'recovery_unreachable' },
    ]);
    expect(first.refresh).toEqual([]);
    expect(await ledger.custody.pendingInvocations()).toHaveLength(1);
    expect(await eventsOf(ledger, 'run.reconciled')).toMatchObject([
      { invocation_id: 'inv-1', action: 'recovery_unreachable' },
    ]);
  });

  test('8.3: an answer without a run id leaves it pending', async () => {
    const { ledger } = await kind.open();
    await ledger.append([requested('inv-1', 't-1')]);
    const daemon = executor();
    daemon.startAnswers.push({ outcome: 'pending' });

    expect((await sweep(ledger, daemon)).outcomes).toMatchObject([{ action: 'recovery_pending' }]);
    expect(await ledger.custody.pendingInvocations()).toHaveLength(1);
  });

  test('8.3: a run id that the log could not keep leaves it pending', async () => {
    const { ledger } = await kind.open();
    await ledger.append([requested('inv-1', 't-1')]);
    const daemon = executor();
    daemon.startAnswers.push({ outcome: 'run', run_id: '../run 1' });

    expect((await sweep(ledger, daemon)).outcomes).toMatchObject([{ action: 'recovery_unreachable' }]);
    expect(await ledger.custody.pendingInvocations()).toHaveLength(1);
  });

  test('O6: a definite refusal retires it; its registration is told, not removed', async () => {
    const { ledger } = await kind.open();
    await ledger.append([requested('inv-1', 't-1', { project_id: 'p-1', project_owned: true })]);
    const daemon = executor();
    daemon.startAnswers.push({ outcome: 'refused', code: 'bad_request', status: 400 });

    const report = await sweep(ledger, daemon);

    expect(report.outcomes).toEqual([
      { invocation_id: 'inv-1', task_id: 't-1', action: 'invocation_retired' },
    ]);
    expect(report.refresh).toEqual(['t-1']);
    expect((await eventsOf(ledger, 'run.start_failed'))[0]).toMatchObject({
      invocation_id: 'inv-1',
      definite: true,
      reason: 'recovery_refused_bad_request',
      project_id: 'p-1',
      project_retired: false,
      project_retention_reason: 'left_to_its_owner',
    });
    const record = await ledger.custody.invocation('inv-1');
    expect(record === null ? null : invocationState(record)).toBe('failed_definite');
  });

  test('I14: a start that arrives after a definite failure still wins', async () => {
    const { ledger } = await kind.open();
    await ledger.append([requested('inv-1', 't-1')]);
    const daemon = executor();
    daemon.startAnswers.push({ outcome: 'refused', code: 'bad_request' });
    await sweep(ledger, daemon);

    await ledger.append([started('run-1', 't-1', { invocation_id: 'inv-1' })]);

    const record = await ledger.custody.invocation('inv-1');
    expect(record === null ? null : invocationState(record)).toBe('started');
    expect((await ledger.custody.openRuns()).map((run) => run.run_id)).toEqual(['run-1']);
  });

  test('I12: an old row without project_persistent is judged by its body, and the key stays absent', async () => {
    const { ledger } = await kind.open();
    const body = { prompt: 'x', access: 'workspace_write', stable_workspace_root: '/srv/site' };
    await ledger.append([
      requested('inv-old', 't-1', { project_id: 'p-1', project_owned: true, request: body }),
      requested('inv-new', 't-2', {
        project_id: 'p-2',
        project_owned: true,
        project_persistent: false,
        request: body,
      }),
    ]);
    const daemon = executor();
    daemon.startAnswers.push({ outcome: 'refused', code: 'gone' }, { outcome: 'refused', code: 'gone' });

    await sweep(ledger, daemon);

    const pending = await ledger.custody.invocation('inv-old');
    expect(pending?.request_row).not.toHaveProperty('project_persistent');
    const failures = await eventsOf(ledger, 'run.start_failed');
    expect(
      Object.fromEntries(
        failures.map((event) => [event['invocation_id'], event['project_retention_reason']]),
      ),
    ).toEqual({
      'inv-old': 'persistent_registration',
      'inv-new': 'left_to_its_owner',
    });
  });

  test('I13: a body behind a reference is read; one that can not be read keeps its invocation', async () => {
    const { ledger } = await kind.open();
    const folder = temporaryFolder();
    const bodies = fileRequestBodies(folder);
    const kept = await bodies.put({ prompt: 'kept' });
    const damaged = await bodies.put({ prompt: 'damaged' });
    writeFileSync(join(folder, `${String(damaged['sha256'])}.json`), '{"prompt":"other"}');
    const without = { request: null };
    await ledger.append([
      requested('inv-kept', 't-1', { ...without, request_ref: kept }),
      requested('inv-damaged', 't-2', { ...without, request_ref: damaged }),
      requested('inv-elsewhere', 't-3', { ...without, request_ref: { kind: 'tape', reel: 7 } }),
    ]);
    const daemon = executor();

    const report = await sweep(ledger, daemon, { bodies });

    expect(daemon.posts.map((post) => [post.invocation_id, post.request])).toEqual([
      ['inv-kept', { prompt: 'kept' }],
    ]);
    expect(report.outcomes).toMatchObject([
      { invocation_id: 'inv-kept', action: 'left_live' },
      {
        invocation_id: 'inv-damaged',
        action: 'invocation_retained',
        reason: 'invocation_request_unrecorded',
      },
      {
        invocation_id: 'inv-elsewhere',
        action: 'invocation_retained',
        reason: 'invocation_request_unrecorded',
      },
    ]);
    expect((await ledger.custody.pendingInvocations()).map((item) => item.invocation_id)).toEqual([
      'inv-damaged',
      'inv-elsewhere',
    ]);
  });

  test('I13: the reconciler’s own sweep reads bodies behind references, too', async () => {
    const { ledger } = await kind.open();
    const bodies = fileRequestBodies(temporaryFolder());
    await ledger.append([
      requested('inv-1', 't-1', { request: null, request_ref: await bodies.put({ prompt: 'kept' }) }),
    ]);
    const daemon = executor();

    const report = await createReconciler(ledger, { liveTaskIds: [], gateway: () => daemon, bodies }).sweep();

    expect(report).toMatchObject({ orphans: [{ run_id: 'run-of-inv-1', action: 'left_live' }] });
    expect(daemon.posts).toMatchObject([{ request: { prompt: 'kept' } }]);
  });

  test('F13: a start that the log does not take leaves the invocation pending; the same run is found again', async () => {
    const { ledger } = await kind.open();
    await ledger.append([requested('inv-1', 't-1')]);
    const daemon = executor();

    const lost = await sweep(
      failingLedger(ledger, (event) => event.type === 'run.started'),
      daemon,
    );
    const found = await sweep(ledger, daemon);

    expect(lost.outcomes).toMatchObject([
      { run_id: 'run-of-inv-1', invocation_id: 'inv-1', action: 'not_recorded' },
    ]);
    expect(found.outcomes).toMatchObject([{ run_id: 'run-of-inv-1', action: 'left_live' }]);
    expect(daemon.posts).toHaveLength(2);
    expect([...daemon.runs.keys()]).toEqual(['run-of-inv-1']);
  });

  test('what the executor adds to the start is kept, unless the log would refuse it', async () => {
    const { ledger } = await kind.open();
    await ledger.append([requested('inv-1', 't-1'), requested('inv-2', 't-2')]);
    const daemon = executor({ 'run-1': LIVE, 'run-2': LIVE });
    daemon.startAnswers.push(
      {
        outcome: 'run',
        run_id: 'run-1',
        facts: { model: 'm-real', process: { pid: 7, started_at_ticks: 8, boot_id: 'b' } },
      },
      { outcome: 'run', run_id: 'run-2', facts: { model: 17 } },
    );

    await sweep(ledger, daemon);

    expect((await ledger.custody.run('run-1'))?.facts).toMatchObject({
      model: 'm-real',
      process: { pid: 7, started_at_ticks: 8, boot_id: 'b' },
    });
    expect(await ledger.custody.run('run-2')).toMatchObject({ started: true, facts: { model: '' } });
  });
});
