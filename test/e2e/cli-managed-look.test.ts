import { expect, test } from 'vitest';
import { cliBench, shaped, toLines } from '../support/cli.ts';
import { done, held } from '../support/cli-managed.ts';
import { MANAGED_ROW } from '../support/cli-managed-schemas.ts';
import { CLI_SCHEMAS } from '../support/cli-schemas.ts';

/** A task that was blocked once, then completed while a run that it delegated was still open. */
async function completedTask() {
  const bench = cliBench();
  await done(bench, 'task create', '--id', 'a', '--title', 'Write it');
  const first = await done(bench, 'run claim', '--holder', 'alice');
  await done(bench, 'run block', ...held(first), '--reason', 'no key', '--kind', 'transient');
  await done(bench, 'task unblock', 'a');
  const second = await done(bench, 'run claim', '--holder', 'bob');
  const stdin = toLines({ type: 'run.started', task_id: 'a', run_id: 'helper', snapshot_id: 's' });
  await bench.run(['event', 'append'], { stdin });
  const end = await done(bench, 'run complete', ...held(second), '--result', 'done');
  return { bench, first, second, end };
}

test('inspect run shows of an attempt what run list shows, beside its record, its debts and its timeline', async () => {
  const { bench, first, second } = await completedTask();
  const inspect = async (id: string) =>
    shaped(CLI_SCHEMAS['inspect run'], (await bench.json(['inspect', 'run', id])).value);

  const blocked = await inspect(first.run_id);
  const winner = await inspect(second.run_id);
  const helper = await inspect('helper');

  expect(blocked).toMatchObject({
    task_id: 'a',
    role: 'attempt',
    managed: true,
    outcome: 'blocked',
    state: 'ended',
    holder: 'alice',
    fence: first.fence,
    summary: 'no key',
    synthesized: false,
    obligations: { open: false },
  });
  expect(blocked.timeline.map((entry) => [entry.type, entry.summary])).toEqual([
    ['run.started', 'holder alice'],
    ['task.blocked', 'reason no key, kind transient, recurrences 1'],
  ]);
  expect(winner).toMatchObject({ outcome: 'completed', summary: 'done', holder: 'bob' });
  expect(helper).toMatchObject({
    role: 'delegate',
    managed: false,
    outcome: null,
    state: 'running',
    fence: null,
    obligations: { open: true },
  });
});

test('inspect task shows the row of a managed task, who holds it, and everything that was done', async () => {
  const bench = cliBench();
  await done(bench, 'task create', '--id', 'a', '--title', 'Write it');
  const run = await done(bench, 'run claim', '--holder', 'alice');
  await done(bench, 'task comment', 'a', '--author', 'bob', '--body', 'hurry');

  const report = shaped(CLI_SCHEMAS['inspect task'], (await bench.json(['inspect', 'task', 'a'])).value);

  expect(shaped(MANAGED_ROW, report.row)).toMatchObject({ status: 'running', current_run_id: run.run_id });
  expect(report.obligations).toMatchObject({ open_attempt_ids: [run.run_id], open_run_ids: [] });
  expect(report.timeline.map((entry) => [entry.type, entry.summary])).toEqual([
    ['task.created', 'status ready, title Write it'],
    ['run.started', 'holder alice'],
    ['task.commented', 'author bob, body hurry, late false'],
  ]);
});

test('explain names for every field of a managed row the event that gave it its value, and what is frozen', async () => {
  const { bench, first, second, end } = await completedTask();
  await done(bench, 'task archive', 'a');
  const { fields } = shaped(CLI_SCHEMAS.explain, (await bench.json(['explain', 'a'])).value);
  const byName = new Map(fields.map((field) => [field.field, field]));
  const seqsOf = (name: string) => byName.get(name)?.because.map((reason) => reason.seq);

  expect(byName.get('title')).toMatchObject({ frozen: true, because: [{ seq: 1, type: 'task.created' }] });
  expect(byName.get('status')).toMatchObject({
    value: 'completed',
    frozen: true,
    because: [{ seq: end.seq, type: 'task.completed' }],
  });
  expect(byName.get('started_at')).toMatchObject({ because: [{ seq: first.fence, type: 'run.started' }] });
  expect(byName.get('completed_run_id')).toMatchObject({ value: second.run_id });
  expect(seqsOf('delegated_runs_started')).toEqual([end.seq]);
  expect(byName.get('archived')).toMatchObject({
    value: true,
    frozen: true,
    because: [{ type: 'task.archived' }],
  });
  expect(byName.get('actual_substrate')).toMatchObject({ frozen: false });
});

test('explain calls nothing frozen while a managed task can still change, and the archive flag until it is set', async () => {
  const { bench } = await completedTask();
  await done(bench, 'task create', '--id', 'b', '--title', 'Later');
  const fieldsOf = async (id: string) =>
    shaped(CLI_SCHEMAS.explain, (await bench.json(['explain', id])).value).fields;

  expect((await fieldsOf('b')).filter((field) => field.frozen)).toEqual([]);
  expect((await fieldsOf('a')).find((field) => field.field === 'archived')).toMatchObject({
    value: false,
    frozen: false,
  });
});

test('audit, backfill, handoff, stats and verify tell the truth about a managed task whose delegate settles late', async () => {
  const { bench, second } = await completedTask();
  const audited = async (...args: readonly string[]) =>
    shaped(CLI_SCHEMAS.audit, (await bench.json(['audit', ...args])).value);

  const owing = await audited();
  const healed = shaped(CLI_SCHEMAS.backfill, (await bench.json(['backfill'])).value);
  const handoff = shaped(CLI_SCHEMAS.handoff, (await bench.json(['handoff', 'a'])).value);
  const stdin = toLines({ type: 'run.settled', run_id: 'helper', state: 'succeeded', cost_usd: 1 });
  await bench.run(['event', 'append'], { stdin });
  const late = await audited('a');
  await bench.run(['sweep']);
  const settled = await audited('a');
  const stats = shaped(CLI_SCHEMAS.stats, (await bench.json(['stats'])).value);

  expect(owing.tasks).toMatchObject([
    {
      task_id: 'a',
      status: 'completed',
      terminal: true,
      current: false,
      audit: { unreconciled: ['helper'] },
    },
  ]);
  expect(owing.totals).toMatchObject({ open_runs: 1 });
  expect(healed.refreshed).toEqual(['a']);
  expect(handoff.delegated_custody).toMatchObject({ unreconciled: ['helper'] });
  expect(late.tasks).toMatchObject([{ current: false, audit: { unreconciled: ['patch:helper'] } }]);
  expect(settled.tasks).toMatchObject([
    { current: true, stored: ['patch:helper'], open_attempts: [], audit: { open_run_ids: [] } },
  ]);
  expect(stats).toMatchObject({ tasks: 1, runs: 3, open_runs: 0, undisposed_patches: 1 });
  const row = shaped(MANAGED_ROW, (await bench.json(['task', 'get', 'a'])).value);
  expect(row).toMatchObject({
    completed_run_id: second.run_id,
    delegated_runs_started: 1,
    delegated_runs_settled: 0,
    delegated_runs_unreconciled: ['patch:helper'],
  });
  expect((await bench.json(['verify', '--rebuild'])).code).toBe(0);
});

test('audit --all says since when a holder has its task', async () => {
  const bench = cliBench();
  await done(bench, 'task create', '--id', 'a', '--title', 'Write it');
  const run = await done(bench, 'run claim', '--holder', 'alice');

  const { tasks } = shaped(CLI_SCHEMAS.audit, (await bench.json(['audit', '--all', '--check'])).value);
  const asText = await bench.run(['audit', '--all']);

  expect(tasks).toMatchObject([
    { task_id: 'a', status: 'running', open_attempts: [run.run_id], current: true },
  ]);
  expect(asText.stdout).toMatch(
    new RegExp(`^\\d+\\w( \\d+\\w)? +a +${run.run_id} +alice +until \\d\\d:\\d\\d:\\d\\dZ$`, 'm'),
  );
});

test('task put gives a managed row fields of its own, and changes none that its commands write', async () => {
  const { bench } = await completedTask();
  const put = (row: object) => bench.json(['task', 'put'], { stdin: toLines(row) });

  const own = await put({ task_id: 'a', status: 'completed', note: 'ours' });
  const frozen = await put({ task_id: 'a', status: 'completed', result: 'forged' });

  expect(own).toMatchObject({ code: 0, value: { written: 1 } });
  expect(frozen).toMatchObject({
    code: 1,
    value: { reason: 'row_frozen', task_id: 'a', fields: ['result'] },
  });
  expect((await bench.json(['task', 'get', 'a'])).value).toMatchObject({ note: 'ours', result: 'done' });
});
