import { existsSync, readdirSync, writeFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import type { CliBench } from '../support/cli.ts';
import { cliBench, shaped, toLines } from '../support/cli.ts';
import { done, held, refused, runsOf, underFence } from '../support/cli-managed.ts';
import { MANAGED_ROW } from '../support/cli-managed-schemas.ts';

/** A store with ready tasks. */
async function withTasks(...ids: readonly string[]): Promise<CliBench> {
  const bench = cliBench();
  for (const id of ids) await done(bench, 'task create', '--id', id, '--title', `Title of ${id}`);
  return bench;
}

async function rowOf(bench: CliBench, id: string) {
  return shaped(MANAGED_ROW, (await bench.json(['task', 'get', id])).value);
}

test('task create lands in ready, in todo while a parent is open, in triage if asked, and refuses a known id', async () => {
  const bench = await withTasks('parent');

  const child = await done(
    bench,
    'task create',
    ...['--id', 'child', '--title', 'Later', '--parent', 'parent', '--body', 'More', '--assignee', 'Bob'],
    ...['--priority', '-3', '--max-retries', '4'],
  );
  const vague = await done(bench, 'task create', '--title', 'Something', '--triage');
  const again = await refused(bench, 'task', 'create', '--id', 'child', '--title', 'Other');
  const orphan = await refused(bench, 'task', 'create', '--id', 'x', '--title', 'X', '--parent', 'nobody');

  expect(child.status).toBe('todo');
  expect(vague.status).toBe('triage');
  expect(again).toMatchObject({ outcome: 'refused', reason: 'task_exists', task_id: 'child' });
  expect(orphan).toMatchObject({ reason: 'no_such_parent', parents: ['nobody'] });
  expect(await rowOf(bench, 'child')).toMatchObject({
    managed: true,
    body: 'More',
    assignee: 'Bob',
    priority: -3,
    parents: ['parent'],
    archived: false,
    result: null,
  });
});

test('claims say why there is nothing: an open parent, a holder, no such task, nothing at all', async () => {
  const bench = await withTasks('parent');
  await done(bench, 'task create', '--id', 'child', '--title', 'Later', '--parent', 'parent');
  const claim = (...more: readonly string[]) => refused(bench, 'run', 'claim', '--holder', 'bob', ...more);

  const waiting = await claim('--task', 'child');
  const run = await done(bench, 'run claim', '--holder', 'alice', '--ttl', '90s');
  const taken = await claim('--task', 'parent');
  const nothing = await claim();
  const unknown = await claim('--task', 'nobody');

  expect(waiting).toMatchObject({ outcome: 'none', reason: 'parents_open', parents: ['parent'] });
  expect(run.task_id).toBe('parent');
  expect(taken).toMatchObject({ outcome: 'none', reason: 'in_flight', holder: 'alice' });
  expect(nothing).toEqual({ outcome: 'none', reason: 'nothing_claimable' });
  expect(unknown).toMatchObject({ outcome: 'none', reason: 'no_such_task' });
  await done(bench, 'run complete', ...held(run), '--result', 'x');
  expect((await done(bench, 'run claim', '--holder', 'bob')).task_id).toBe('child');
});

test('link makes a task wait, once and never in a circle; assign names who it is for, not while it runs', async () => {
  const bench = await withTasks('a', 'b');

  const linked = await done(bench, 'task link', 'b', '--parent', 'a');
  const circle = await refused(bench, 'task', 'link', 'a', '--parent', 'b');
  const assigned = await done(bench, 'task assign', 'a', '--to', 'alice');
  await done(bench, 'run claim', '--holder', 'alice', '--task', 'a');
  const running = await refused(bench, 'task', 'assign', 'a', '--to', 'bob');
  const unknown = await refused(bench, 'task', 'assign', 'nobody', '--to', 'bob');

  expect(linked).toEqual({ outcome: 'linked', task_id: 'b', status: 'todo' });
  expect(circle).toMatchObject({ reason: 'link_cycle' });
  expect(assigned).toEqual({ outcome: 'assigned', task_id: 'a', status: 'ready' });
  expect(running).toMatchObject({ reason: 'task_running', assignee: 'alice' });
  expect(unknown).toEqual({ outcome: 'refused', reason: 'no_such_task', task_id: 'nobody' });
});

test('a comment of a run is late once the run has ended', async () => {
  const bench = await withTasks('a', 'b');
  const run = await done(bench, 'run claim', '--holder', 'alice', '--task', 'a');
  const say = (id: string, ...more: readonly string[]) => [id, '--author', 'alice', '--body', 'hm', ...more];

  const inTime = await done(bench, 'task comment', ...say('a', '--run', run.run_id));
  await done(bench, 'run fail', ...held(run), '--reason', 'no key');
  const late = await done(bench, 'task comment', ...say('a', '--run', run.run_id));
  const foreign = await refused(bench, 'task', 'comment', ...say('b', '--run', run.run_id));
  const free = await done(bench, 'task comment', ...say('b'));

  expect([inTime.late, late.late, free.late]).toEqual([false, true, false]);
  expect(late.status).toBe('failed');
  expect(foreign).toMatchObject({ reason: 'foreign_run', owner: 'a' });
});

test('two blocks of one kind send a task to triage, where it is specified or split', async () => {
  const bench = await withTasks('a');
  const claim = () => done(bench, 'run claim', '--holder', 'alice', '--task', 'a');

  const byOperator = await done(bench, 'task block', 'a', '--reason', 'no key', '--kind', 'capability');
  const unblocked = await done(bench, 'task unblock', 'a');
  const second = await claim();
  const byHolder = await done(
    bench,
    'run block',
    ...[...held(second), '--reason', 'no key', '--kind', 'capability'],
  );
  const stuck = await refused(bench, 'task', 'unblock', 'a');
  const specified = await done(bench, 'task specify', 'a', '--title', 'Clearer', '--author', 'bob');
  const twice = await refused(bench, 'task', 'specify', 'a', '--title', 'Clearer still');

  expect([byOperator.status, unblocked.status, byHolder.status]).toEqual(['blocked', 'ready', 'triage']);
  expect(stuck).toMatchObject({ reason: 'not_blocked', status: 'triage' });
  expect(specified).toEqual({ outcome: 'specified', task_id: 'a', status: 'ready' });
  expect(twice).toMatchObject({ reason: 'not_in_triage' });
  expect(await rowOf(bench, 'a')).toMatchObject({
    title: 'Clearer',
    block_kind: 'capability',
    block_recurrences: 2,
  });
  expect(await runsOf(bench, 'a')).toMatchObject([
    { outcome: 'blocked', synthesized: true, summary: 'no key' },
    { outcome: 'blocked', synthesized: false, run_id: second.run_id },
  ]);
});

test('decompose makes children that the task waits for, by title or by ID=TITLE, once', async () => {
  const bench = cliBench();
  await done(bench, 'task create', '--id', 'root', '--title', 'All', '--triage');
  const split = (...more: readonly string[]) => ['root', ...more.flatMap((child) => ['--child', child])];

  const parts = await done(bench, 'task decompose', ...split('part-1=Numbers', 'Text with a = in it'));
  const again = await refused(bench, 'task', 'decompose', ...split('part-3=More'));

  expect(parts).toMatchObject({ outcome: 'decomposed', task_id: 'root', status: 'todo' });
  const [first = '', second = ''] = parts.children;
  expect(first).toBe('part-1');
  expect(await rowOf(bench, second)).toMatchObject({ title: 'Text with a = in it', status: 'ready' });
  expect(again).toMatchObject({ reason: 'decomposed' });
  for (const child of parts.children)
    await done(bench, 'task complete', child, '--operator', 'alice', '--result', `done ${child}`);
  expect((await rowOf(bench, 'root')).status).toBe('ready');
});

test('an operator completes without a run, needs --force while an answer is awaited, and cancels and archives', async () => {
  const bench = await withTasks('a', 'b', 'c');
  await done(bench, 'task block', 'a', '--reason', 'which one?', '--kind', 'needs_input');
  const complete = (...more: readonly string[]) => ['a', '--operator', 'alice', ...more];

  const awaited = await refused(bench, 'task', 'complete', ...complete('--result', 'the first'));
  const forced = await done(bench, 'task complete', ...complete('--result', 'the first', '--force'));
  const again = await refused(bench, 'task', 'complete', ...complete());
  const cancelled = await done(bench, 'task cancel', 'b', '--reason', 'obsolete');
  const ended = await refused(bench, 'task', 'cancel', 'b');
  const archived = await done(bench, 'task archive', 'c');
  const twice = await refused(bench, 'task', 'archive', 'c');

  expect(awaited).toMatchObject({ reason: 'needs_force', block_kind: 'needs_input' });
  expect(forced).toMatchObject({ outcome: 'completed', task_id: 'a', status: 'completed' });
  expect((await runsOf(bench, 'a')).at(-1)).toMatchObject({ run_id: forced.run_id, synthesized: true });
  expect(again).toMatchObject({ reason: 'already_completed', completed_run_id: forced.run_id });
  expect(cancelled).toEqual({ outcome: 'cancelled', task_id: 'b', status: 'cancelled' });
  expect(ended).toMatchObject({ reason: 'task_ended' });
  expect(archived).toEqual({ outcome: 'archived', task_id: 'c', status: 'cancelled' });
  expect(twice).toMatchObject({ reason: 'already_archived' });
  expect(await rowOf(bench, 'c')).toMatchObject({ archived: true });
});

test('promote makes a waiting task ready only once its parents are done', async () => {
  const bench = await withTasks('a', 'b');
  await done(bench, 'task block', 'b', '--reason', 'later');

  const promoted = await done(bench, 'task promote', 'b', '--operator', 'alice', '--reason', 'now');
  const ready = await refused(bench, 'task', 'promote', 'b', '--operator', 'alice');
  await done(bench, 'task link', 'b', '--parent', 'a');
  const early = await refused(bench, 'task', 'promote', 'b', '--operator', 'alice');

  expect(promoted).toEqual({ outcome: 'promoted', task_id: 'b', status: 'ready' });
  expect(ready).toMatchObject({ reason: 'not_promotable' });
  expect(early).toMatchObject({ reason: 'parents_open', parents: ['a'] });
});

test('X3, X4: a step is taken once; the same key with another value, and a wrong fence, are refused', async () => {
  const bench = await withTasks('a');
  const run = await done(bench, 'run claim', '--holder', 'alice');
  const submit = (value: string) => [...held(run), '--key', 'a:step-0', '--value', value];

  await done(bench, 'run submit', ...submit('one'));
  const other = await refused(bench, 'run', 'submit', ...submit('two'));
  const larger = await refused(
    bench,
    ...['run', 'submit', ...held({ ...run, fence: run.fence + 1 }), '--key', 'a:step-0', '--value', 'one'],
  );

  expect(other).toMatchObject({ reason: 'idempotency_conflict', idempotency_key: 'a:step-0' });
  expect(larger).toMatchObject({ reason: 'stale_fence', offered: run.fence + 1, current: run.fence });
  expect(await bench.lines(['event', 'list', '--type', 'run.submitted'])).toHaveLength(1);
});

test('only the holder is told its fence', async () => {
  const bench = await withTasks('a');
  const run = await done(bench, 'run claim', '--holder', 'alice');

  const mine = await done(bench, 'run refresh', '--run', run.run_id, '--holder', 'alice');
  const others = await refused(bench, 'run', 'refresh', '--run', run.run_id, '--holder', 'bob');
  const nobodys = await refused(bench, 'run', 'refresh', '--run', 'no-run', '--holder', 'bob');

  expect(mine).toEqual({ outcome: 'refreshed', fence: run.fence, expires_at: run.expires_at });
  expect(others).toMatchObject({ reason: 'not_holder' });
  expect(others).not.toHaveProperty('fence');
  expect(nobodys).toMatchObject({ reason: 'no_such_run' });
});

test('run list of a task that is not there says so; a task without a run has an empty list', async () => {
  const bench = await withTasks('a');

  expect(await refused(bench, 'run', 'list', '--task', 'nobody')).toEqual({
    outcome: 'not_found',
    task_id: 'nobody',
  });
  expect(await bench.run(['--json', 'run', 'list', '--task', 'a'])).toMatchObject({ code: 0, stdout: '' });
});

test('run list shows delegated runs beside attempts, in the order of their starts', async () => {
  const bench = await withTasks('a');
  const run = await done(bench, 'run claim', '--holder', 'alice');
  const stdin = toLines(
    { type: 'run.started', task_id: 'a', run_id: 'helper' },
    { type: 'run.settled', run_id: 'helper', state: 'failed', outcome_reason: 'no route' },
  );
  await bench.run(['event', 'append'], { stdin });

  const runs = await runsOf(bench, 'a');

  expect(runs).toMatchObject([
    { run_id: run.run_id, role: 'attempt', outcome: null, fence: run.fence, ended_at: null },
    { run_id: 'helper', role: 'delegate', outcome: 'failed', fence: null, holder: null, error: 'no route' },
  ]);
});

test('journal recover counts what is stale, what contradicts and what no program can read, and keeps all of it', async () => {
  const bench = await withTasks('a', 'b');
  const lost = await done(bench, 'run claim', '--holder', 'alice', '--task', 'a');
  const write = (task: string, run: string, result: string) =>
    done(bench, 'journal write', ...['--dir', 'journals', '--task', task, '--run', run, '--result', result]);
  await done(bench, 'run reclaim', '--task', 'a', '--run', lost.run_id, '--reason', 'gone');
  await write('a', lost.run_id, 'too late');
  const winner = await done(bench, 'run claim', '--holder', 'alice', '--task', 'b');
  await done(bench, 'run complete', ...held(winner), '--result', 'this');
  const contrary = await write('b', winner.run_id, 'that');
  writeFileSync(bench.path(contrary.pending.replace(winner.run_id, 'unreadable-run')), '{"task_id":');

  const report = await done(bench, 'journal recover', 'journals');

  expect(report).toMatchObject({ applied: 0, stale: 1, conflict: 2, retry: 0 });
  const outcomes = new Map(report.files.map((file) => [file.run_id, file]));
  expect(outcomes.get(lost.run_id)).toMatchObject({ outcome: 'stale' });
  expect(outcomes.get(winner.run_id)).toMatchObject({ outcome: 'conflict', reason: 'journal_conflict' });
  expect(report.files.every((file) => existsSync(bench.path(file.file)))).toBe(true);
  expect(readdirSync(bench.path('journals'))).toHaveLength(3);
  expect(await rowOf(bench, 'b')).toMatchObject({ result: 'this' });
});

test('without --json every verb says in a line what it did, and a refusal is on stderr with its facts', async () => {
  const bench = await withTasks('a');
  const run = await done(bench, 'run claim', '--holder', 'alice');
  const text = async (...args: readonly string[]) => (await bench.run(args)).stdout;

  expect(await text('task', 'create', '--id', 'b', '--title', 'B')).toBe('created b: ready\n');
  expect(await text('run', 'heartbeat', ...underFence(run))).toMatch(/^extended until \d{4}-/);
  expect(await text('run', 'push', ...underFence(run), '--state', 'working')).toBe('recorded working\n');
  expect(await text('run', 'refresh', '--run', run.run_id, '--holder', 'alice')).toMatch(
    new RegExp(`^fence ${run.fence}, until `),
  );
  expect(await text('run', 'list', '--task', 'a')).toMatch(
    new RegExp(`^${run.run_id}  working     fence ${run.fence} +\\S+  alice\n$`),
  );
  const no = await bench.run(['run', 'claim', '--holder', 'bob', '--task', 'a']);
  expect(no).toMatchObject({ code: 1, stdout: '' });
  expect(no.stderr).toMatch(/^custody: refused, in_flight: a run holds the task\n/);
  expect(no.stderr).toContain(`  current_run_id: ${run.run_id}\n`);
  expect(await text('run', 'complete', ...held(run), '--result', 'x')).toMatch(
    /^completed a by run \S+ \(seq \d+\)\n$/,
  );
  expect(await text('run', 'claim', '--holder', 'bob')).toMatch(
    /^claimed b: run \S+, fence \d+, until \S+\n$/,
  );
});
