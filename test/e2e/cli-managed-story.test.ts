import type { ChildProcess } from 'node:child_process';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { expect, onTestFinished, test } from 'vitest';
import type { CliBench } from '../support/cli.ts';
import { CLI_BIN, cliBench, shaped } from '../support/cli.ts';
import { done, held, refused, runsOf, underFence } from '../support/cli-managed.ts';
import { MANAGED_ROW } from '../support/cli-managed-schemas.ts';
import { CLI_SCHEMAS } from '../support/cli-schemas.ts';

/** A process that does nothing until it is ended, as a worker that is busy. */
async function worker(): Promise<{ readonly child: ChildProcess; readonly pid: string }> {
  const child = spawn('sleep', ['600']);
  await once(child, 'spawn');
  onTestFinished(() => {
    child.kill('SIGKILL');
  });
  return { child, pid: String(child.pid) };
}

function ended(child: ChildProcess): Promise<unknown> {
  return child.exitCode !== null || child.signalCode !== null ? Promise.resolve() : once(child, 'exit');
}

test('a task is created, claimed, kept alive, worked on and completed, each step in a process of its own', async () => {
  const bench = cliBench();

  const created = await done(bench, 'task create', '--id', 'task-1', '--title', 'Write it');
  const run = await done(bench, 'run claim', '--holder', 'alice');
  const beat = await done(bench, 'run heartbeat', ...underFence(run), '--ttl', '1h');
  await done(bench, 'run push', ...underFence(run), '--state', 'working', '--note', 'half of it');
  const step = await done(bench, 'run submit', ...held(run), '--key', 'task-1:step-0', '--value', '{"n":1}');
  const again = await done(bench, 'run submit', ...held(run), '--key', 'task-1:step-0', '--value', '{"n":1}');
  const completed = await done(bench, 'run complete', ...held(run), '--result', 'the text');

  expect(created).toEqual({ outcome: 'created', task_id: 'task-1', status: 'ready' });
  expect(run).toMatchObject({ task_id: 'task-1', pending_question: false, question: null });
  expect(Date.parse(beat.expires_at) - Date.parse(run.expires_at)).toBeGreaterThan(40 * 60_000);
  expect(step).toEqual({ outcome: 'applied', replayed: false, value: '{"n":1}' });
  expect(again).toEqual({ outcome: 'applied', replayed: true, value: '{"n":1}' });
  expect(completed).toMatchObject({ task_id: 'task-1', run_id: run.run_id, replayed: false });
  const row = shaped(MANAGED_ROW, (await bench.json(['task', 'get', 'task-1'])).value);
  expect(row).toMatchObject({
    status: 'completed',
    result: 'the text',
    summary: 'the text',
    current_run_id: null,
    completed_run_id: run.run_id,
  });
  expect(await runsOf(bench, 'task-1')).toMatchObject([
    { run_id: run.run_id, role: 'attempt', outcome: 'completed', state: 'ended', holder: 'alice' },
  ]);
  expect((await bench.json(['verify', '--rebuild'])).code).toBe(0);
});

test('a late completion by a run that lost its task is refused with exit 1, and the successor completes', async () => {
  const bench = cliBench();
  await done(bench, 'task create', '--id', 'task-1', '--title', 'Write it');
  const first = await done(bench, 'run claim', '--holder', 'alice', '--task', 'task-1');
  const reclaimed = await done(
    bench,
    'run reclaim',
    ...['--task', 'task-1', '--run', first.run_id, '--reason', 'alice is gone'],
  );
  const second = await done(bench, 'run claim', '--holder', 'bob', '--task', 'task-1');
  const before = (await bench.run(['event', 'export'])).stdout;

  const late = await refused(bench, 'run', 'complete', ...held(first), '--result', 'old');
  const beat = await refused(bench, 'run', 'heartbeat', ...underFence(first));
  const replay = await refused(
    bench,
    ...['run', 'complete', '--task', 'task-1', '--run', first.run_id, '--replay', '--result', 'old'],
  );

  expect(reclaimed).toEqual({
    outcome: 'reclaimed',
    task_id: 'task-1',
    run_id: first.run_id,
    status: 'ready',
  });
  expect(second.fence).toBeGreaterThan(first.fence);
  expect(late).toMatchObject({
    outcome: 'refused',
    reason: 'stale_fence',
    offered: first.fence,
    current: second.fence,
    current_run_id: second.run_id,
  });
  expect(beat).toMatchObject({ outcome: 'refused', reason: 'stale_fence' });
  expect(replay).toMatchObject({ outcome: 'refused', reason: 'not_latest_run' });
  expect((await bench.run(['event', 'export'])).stdout).toBe(before);
  await done(bench, 'run complete', ...held(second), '--result', 'new');
  expect((await runsOf(bench, 'task-1')).map((run) => run.outcome)).toEqual(['reclaimed', 'completed']);
});

test('the result of a run that was blocked afterwards becomes the completion by a replay, once', async () => {
  const bench = cliBench();
  await done(bench, 'task create', '--id', 'task-1', '--title', 'Write it');
  const run = await done(bench, 'run claim', '--holder', 'alice');
  const blocked = await done(bench, 'run block', ...held(run), '--reason', 'the upload failed');
  const replay = ['--task', 'task-1', '--run', run.run_id, '--replay', '--result', 'kept'];

  const completed = await done(bench, 'run complete', ...replay);
  const again = await refused(bench, 'run', 'complete', ...replay);

  expect(blocked).toEqual({ outcome: 'blocked', task_id: 'task-1', status: 'blocked' });
  expect(completed).toMatchObject({ run_id: run.run_id, replayed: true });
  expect(again).toMatchObject({ reason: 'already_completed' });
  const lines = await bench.lines(['event', 'list', '--type', 'task.completed']);
  expect(lines).toHaveLength(1);
  expect(lines[0]).toMatchObject({ seq: completed.seq, replayed: true, prior_outcome: 'blocked' });
});

test('a reclaim stops the process of exactly the run that it names', async () => {
  const bench = cliBench();
  const { child, pid } = await worker();
  await done(bench, 'task create', '--id', 'task-1', '--title', 'Write it');
  const run = await done(bench, 'run claim', '--holder', 'alice', '--pid', pid);
  const reclaim = (runId: string) => ['--task', 'task-1', '--run', runId, '--reason', 'stuck'];

  const wrong = await refused(bench, 'run', 'reclaim', ...reclaim('another-run'));
  const isAliveAfterWrong = child.exitCode === null && child.signalCode === null;
  const right = await done(bench, 'run reclaim', ...reclaim(run.run_id));
  await ended(child);

  expect(wrong).toMatchObject({ reason: 'not_current_run', current_run_id: run.run_id });
  expect(isAliveAfterWrong).toBe(true);
  expect(right.status).toBe('ready');
  expect(child.signalCode).toBe('SIGTERM');
  expect(await refused(bench, 'run', 'reclaim', ...reclaim(run.run_id))).toMatchObject({
    reason: 'not_running',
  });
});

test('a worker that is killed between its journal and the ledger loses nothing: recover applies its result once', async () => {
  const bench = cliBench();
  await done(bench, 'task create', '--id', 'task-1', '--title', 'Write it');
  const run = await done(bench, 'run claim', '--holder', 'alice');
  const entry = ['--dir', 'journals', '--task', 'task-1', '--run', run.run_id, '--result', 'kept'];
  const { pending, killed } = await writeAndDie(bench, entry);

  const recovered = await done(bench, 'journal recover', 'journals');
  const again = await done(bench, 'journal recover', 'journals');

  expect(killed).toBe('SIGKILL');
  expect(recovered).toMatchObject({
    applied: 1,
    stale: 0,
    conflict: 0,
    retry: 0,
    files: [{ task_id: 'task-1', run_id: run.run_id, outcome: 'applied', file: pending }],
  });
  expect(again).toEqual({ applied: 0, stale: 0, conflict: 0, retry: 0, files: [] });
  expect(existsSync(bench.path(pending))).toBe(false);
  expect((await bench.json(['task', 'get', 'task-1'])).value).toMatchObject({
    status: 'completed',
    result: 'kept',
    completed_run_id: run.run_id,
  });
});

test('a sweep recovers journals before it looks who crashed, and requeues only what nobody finished', async () => {
  const bench = cliBench();
  await bench.run(['init', '--set', 'CUSTODY_CRASH_GRACE=0s', '--set', 'CUSTODY_PARK_SETTLE=0s']);
  const { child, pid } = await worker();
  for (const id of ['task-1', 'task-2'])
    await done(bench, 'task create', '--id', id, '--title', `Write ${id}`);
  const claim = (id: string) => done(bench, 'run claim', '--holder', 'alice', '--task', id, '--pid', pid);
  const finished = await claim('task-1');
  await claim('task-2');
  const entry = ['--dir', 'journals', '--task', 'task-1', '--run', finished.run_id, '--result', 'kept'];
  await done(bench, 'journal write', ...entry);
  child.kill('SIGKILL');
  await ended(child);

  const report = shaped(
    CLI_SCHEMAS.sweep,
    (await bench.json(['sweep', '--journal', 'journals', '--journal', 'no-journals'])).value,
  );

  expect(report).toMatchObject({
    requeued: ['task-2'],
    journals: { applied: 1, stale: 0, conflict: 0, retry: 0, errors: [] },
  });
  expect((await bench.json(['task', 'get', 'task-1'])).value).toMatchObject({ status: 'completed' });
  expect((await runsOf(bench, 'task-2')).map((run) => run.outcome)).toEqual(['crashed']);
});

test('times that init sets hold for every process: a claim takes over from a holder whose lease ran out', async () => {
  const bench = cliBench();
  await done(bench, 'task create', '--id', 'task-1', '--title', 'Write it');
  const first = await done(bench, 'run claim', '--holder', 'alice', '--ttl', '1ms');
  const tooEarly = await refused(bench, 'run', 'claim', '--holder', 'bob', '--task', 'task-1');
  const init = await bench.json([
    'init',
    ...['--set', 'CUSTODY_CRASH_GRACE=0s', '--set', 'CUSTODY_PARK_SETTLE=1ms'],
    ...['--set', 'CUSTODY_LEASE_TTL=2m'],
  ]);

  const second = await done(bench, 'run claim', '--holder', 'bob', '--task', 'task-1');

  expect(tooEarly).toMatchObject({ outcome: 'none', reason: 'in_flight', current_run_id: first.run_id });
  expect(shaped(CLI_SCHEMAS.init, init.value)).toMatchObject({
    created: false,
    settings: { lease_ttl_ms: 120_000, crash_grace_ms: 0, park_settle_ms: 1, failure_limit: 2 },
  });
  const [stopped, running] = await runsOf(bench, 'task-1');
  expect(stopped).toMatchObject({ run_id: first.run_id, outcome: 'stopped' });
  expect(running).toMatchObject({ run_id: second.run_id, outcome: null, state: 'running', holder: 'bob' });
  const leaseMs = Date.parse(second.expires_at) - Date.parse(running?.started_at ?? '');
  expect(leaseMs).toBe(120_000);
});

/** A worker that keeps its result in a journal, and is killed before it can tell the ledger. */
async function writeAndDie(
  bench: CliBench,
  entry: readonly string[],
): Promise<{ readonly pending: string; readonly killed: NodeJS.Signals | null }> {
  const command = [process.execPath, CLI_BIN, '--json', 'journal', 'write', ...entry];
  const child = spawn('sh', ['-c', '"$@" && exec sleep 600', 'worker', ...command], {
    cwd: bench.dir,
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  onTestFinished(() => {
    child.kill('SIGKILL');
  });
  const [printed] = (await once(child.stdout, 'data')) as [Buffer];
  child.kill('SIGKILL');
  await ended(child);
  const { pending } = shaped(CLI_SCHEMAS['journal write'], JSON.parse(printed.toString()));
  return { pending, killed: child.signalCode };
}
