import type { Ledger, NewEvent, TaskRow } from '@custody/ledger';
import { openLedger } from '@custody/ledger';
import { createReconciler } from '@custody/reconciler';
import { expect, test } from 'vitest';
import { decidingEvents } from '../../../packages/cli/src/explain/deciding-events.ts';
import { explainedFields } from '../../../packages/cli/src/explain/explained-fields.ts';
import { healHistory } from '../../../packages/cli/src/explain/heal-history.ts';
import { eventsOfTask } from '../../../packages/cli/src/task-events.ts';
import { rowFromText } from '../../support/row.ts';

/** The `seq` of the events behind each live field, and the heals, of one task. */
async function explainTask(ledger: Ledger, taskId = 't-1') {
  const custody = (await ledger.custody.tasks([taskId])).get(taskId);
  const loaded = await ledger.rows.load(taskId);
  if (custody === undefined || loaded === null) throw new Error('the task is not there');
  const events = await eventsOfTask(ledger, custody);
  const deciding = decidingEvents(custody, events);
  return {
    custody: deciding.custody.map((event) => event.seq),
    evidence: deciding.evidence.map((event) => event.seq),
    fields: explainedFields(loaded.row, { deciding, events, untrue: new Set() }),
    healed: healHistory(loaded.row.value, events),
  };
}

async function ledgerWith(row: TaskRow, ...events: readonly NewEvent[]): Promise<Ledger> {
  const ledger = await openLedger('memory:');
  await ledger.rows.put([row]);
  await ledger.append(events);
  return ledger;
}

const failed = rowFromText('{"task_id":"t-1","status":"failed","delegated_runs_started":1}');
const start = (run_id: string, more: object = {}): NewEvent => ({
  type: 'run.started',
  task_id: 't-1',
  run_id,
  ...more,
});
const settle = (run_id: string, state = 'succeeded'): NewEvent => ({ type: 'run.settled', run_id, state });

test('an open run rests on its start, an ended one on its end, one with a decided patch on the decision', async () => {
  const ledger = await ledgerWith(
    failed,
    start('open'),
    start('ended'),
    start('patched', { snapshot_id: 's' }),
    settle('ended'),
    settle('patched'),
    {
      type: 'patch.disposed',
      run_id: 'patched',
      disposition: 'applied',
    },
  );

  expect((await explainTask(ledger)).custody).toEqual([1, 4, 6]);
});

test('a patch that another run took over rests on the start of that run', async () => {
  const ledger = await ledgerWith(
    failed,
    start('first', { snapshot_id: 's' }),
    settle('first'),
    start('second', { snapshot_id: 's', capture_id: 'c', continuation_of: 'first' }),
  );

  expect((await explainTask(ledger)).custody).toEqual([3]);
});

test('an invocation rests on its request while it waits, on its refusal when that was definite, and on its run once it started', async () => {
  const request = (invocation_id: string): NewEvent => ({
    type: 'run.start_requested',
    task_id: 't-1',
    invocation_id,
    request: {},
  });
  const ledger = await ledgerWith(
    failed,
    request('waits'),
    request('refused'),
    request('unsure'),
    request('started'),
    { type: 'run.start_failed', invocation_id: 'refused', definite: true },
    { type: 'run.start_failed', invocation_id: 'unsure', definite: false },
    start('run-1', { invocation_id: 'started' }),
  );

  const { custody } = await explainTask(ledger);

  // The refusals name no task, so only requests and starts are found by it.
  expect(custody).toEqual([1, 2, 3, 7]);
});

test('evidence rests on the first start and the first end of each counted run; review panels do not count', async () => {
  const ledger = await ledgerWith(
    failed,
    start('run-1'),
    start('run-1'),
    settle('run-1'),
    settle('run-1', 'failed'),
    start('panel', { source: 'review_substrate_x' }),
    settle('panel'),
  );

  expect((await explainTask(ledger)).evidence).toEqual([1, 3]);
});

test('everything of a terminal row is frozen but the live fields; a row that has not ended has nothing frozen', async () => {
  const text =
    '{"task_id":"t-1","status":"failed","n":12345678901234567890,"subagent_envelope":{"executor_route":"claude","execution_evidence":{}},"delegated_runs_unreconciled":[]}';
  const terminal = await explainTask(await ledgerWith(rowFromText(text)));
  const running = await explainTask(await ledgerWith(rowFromText(text.replace('failed', 'running'))));

  const frozen = Object.fromEntries(terminal.fields.map((field) => [field.field, field.frozen]));
  expect(frozen).toMatchObject({
    status: true,
    n: true,
    'subagent_envelope.executor_route': true,
    'subagent_envelope.execution_evidence': false,
    delegated_runs_unreconciled: false,
  });
  expect(terminal.fields.find((field) => field.field === 'n')?.raw).toBe('12345678901234567890');
  expect(running.fields.every((field) => !field.frozen)).toBe(true);
});

test('a frozen field rests on the newest recorded write of the orchestrator that names it', async () => {
  const ledger = await ledgerWith(
    failed,
    { type: 'task.recorded', task_id: 't-1', status: 'running' },
    { type: 'task.recorded', task_id: 't-1', status: 'failed', reason_code: 'x' },
  );

  const { fields } = await explainTask(ledger);

  expect(fields.find((field) => field.field === 'status')?.because).toMatchObject([
    { seq: 2, type: 'task.recorded' },
  ]);
  expect(fields.find((field) => field.field === 'delegated_runs_started')?.because).toEqual([]);
});

test('each heal says what it found and what it left, the middle ones too', async () => {
  const ledger = await ledgerWith(failed, start('run-1'), start('run-2'));
  const reconciler = createReconciler(ledger);
  await reconciler.backfill();
  await ledger.append([settle('run-1')]);
  await reconciler.sweep();
  await ledger.append([settle('run-2')]);
  await reconciler.clear('t-1');

  const { healed } = await explainTask(ledger);

  expect(
    healed.map((heal) => [
      heal.trigger,
      heal.before?.['delegated_runs_unreconciled'],
      heal.after['delegated_runs_unreconciled'],
    ]),
  ).toEqual([
    ['boot_backfill', null, ['run-1', 'run-2']],
    ['sweep_refresh', ['run-1', 'run-2'], ['run-2']],
    ['kill_path_clear', ['run-2'], []],
  ]);
});

test('a heal that another program recorded is told as far as its event tells', () => {
  const event = {
    seq: 1,
    id: 'e',
    type: 'custody.reconciled',
    at: '2026-03-01T00:00:00.000Z',
    recorded_at: '',
    epoch: 1,
    hash: '',
    trigger: 'terminal_boundary',
  };

  expect(healHistory({}, [event])).toEqual([
    {
      seq: 1,
      at: '2026-03-01T00:00:00.000Z',
      trigger: 'terminal_boundary',
      before: null,
      after: { delegated_runs_unreconciled: [] },
    },
  ]);
});
