import type { ChildProcess } from 'node:child_process';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { text } from 'node:stream/consumers';
import type { Ledger } from '@custody/ledger';
import { identifyProcess, openLedger } from '@custody/ledger';
import { createReconciler } from '@custody/reconciler';
import { describe, expect, onTestFinished, test } from 'vitest';
import { CLI_BIN, cliBench } from '../support/cli.ts';
import { done } from '../support/cli-managed.ts';
import { eventsOf } from '../support/log.ts';
import { manualClock } from '../support/manual-clock.ts';

/** A shell that leads a group of its own, and what it started; the end of the test kills all of it. */
async function group(script: string): Promise<{ readonly leader: ChildProcess; readonly pid: number }> {
  const leader = spawn('bash', ['-c', script], { detached: true, stdio: ['ignore', 'pipe', 'ignore'] });
  const { pid = 0 } = leader;
  onTestFinished(() => killGroup(pid));
  await once(leader.stdout, 'data');
  return { leader, pid };
}

function killGroup(pid: number): void {
  try {
    process.kill(-pid, 'SIGKILL');
  } catch (error) {
    // Nobody of it is left.
    expect(error).toMatchObject({ code: 'ESRCH' });
  }
}

/** A worker that does nothing until it is ended. */
const WAITS = 'echo ready; exec sleep 600';
/** A worker whose child goes on when the worker is gone. */
const WITH_CHILD = 'sleep 600 & echo ready; wait';
const WITH_STUBBORN_CHILD =
  'bash -c \'trap "" TERM; echo ready; while :; do read -t 60 <> <(:); done\' & wait';

async function working(taskId: string, more: { readonly pid: number }) {
  const clock = manualClock();
  const ledger = await openLedger('memory:', { clock });
  onTestFinished(() => ledger.close());
  await ledger.tasks.create({ taskId, title: 'work' });
  const run = await claimed(ledger, taskId, more);
  return { clock, ledger, run, sweep: () => createReconciler(ledger).sweep() };
}

async function claimed(ledger: Ledger, taskId: string, more: { readonly pid?: number } = {}) {
  const run = await ledger.runs.claim({ taskId, holder: 'worker', ttlMs: 1000, ...more });
  if (run.outcome !== 'claimed') throw new Error(run.reason);
  return run;
}

describe.runIf(process.platform === 'linux')('workers that are processes of this host', () => {
  test('F-12: three tasks that are reclaimed and handed out again have three workers, not six', async () => {
    await using ledger = await openLedger('memory:');
    const workers = [];
    for (const taskId of ['t-1', 't-2', 't-3']) {
      await ledger.tasks.create({ taskId, title: 'work' });
      const worker = await group(WAITS);
      workers.push({ ...worker, run: await claimed(ledger, taskId, { pid: worker.pid }) });
    }
    for (const { leader, run } of workers) {
      const exited = once(leader, 'exit');
      await ledger.runs.reclaim({ taskId: run.task_id, runId: run.run_id });
      // Gone before anybody else can have the task.
      expect(await exited).toEqual([null, 'SIGTERM']);
      const next = await group(WAITS);
      await claimed(ledger, run.task_id, { pid: next.pid });
    }

    expect((await ledger.leases.running()).map((task) => task.process)).toEqual(Array(3).fill('alive'));
    expect(await eventsOf(ledger, 'claim.reclaimed')).toMatchObject(
      workers.map(({ pid }) => ({ termination: { prev_pid: pid, terminated: true, sigkill: false } })),
    );
  });

  test('F-22: a worker is gone and its child goes on: nobody is started beside it until the child is gone, too', async () => {
    const { leader, pid } = await group(WITH_CHILD);
    const { clock, ledger, run, sweep } = await working('t-1', { pid });
    leader.kill('SIGKILL');
    await once(leader, 'exit');

    for (const seconds of [1, 600, 86_400]) {
      clock.advance(seconds * 1000);
      expect(await sweep()).toMatchObject({ requeued: [] });
      expect(await ledger.runs.claim({ taskId: 't-1', holder: 'next' })).toMatchObject({
        outcome: 'none',
        reason: 'in_flight',
        current_run_id: run.run_id,
      });
    }

    killGroup(pid);
    // The child is not ours: no exit is told to us, and its pipe closes a moment before it has ended.
    await expect.poll(sweep).toMatchObject({ requeued: ['t-1'] });
    expect(await ledger.runs.list('t-1')).toMatchObject([{ run_id: run.run_id, outcome: 'crashed' }]);
  });

  test('F-22: a reclaim stops what its worker started, also what takes no notice of being asked', async () => {
    const { leader, pid } = await group(WITH_STUBBORN_CHILD);
    const { ledger, run } = await working('t-1', { pid });
    const closed = once(leader, 'close');

    expect(await ledger.runs.reclaim({ taskId: 't-1', runId: run.run_id })).toMatchObject({
      outcome: 'reclaimed',
    });

    // The pipe closes with the last one that holds it.
    await closed;
    const [reclaimed] = await eventsOf(ledger, 'claim.reclaimed');
    expect(reclaimed).toMatchObject({
      termination: { prev_pid: pid, terminated: true, termination_attempted: true, sigkill: true },
    });
  }, 20_000);

  test('F-22 and F-21: a group whose leader was gone before is signalled by nobody: it may be a stranger’s', async () => {
    const { leader, pid } = await group(WITH_CHILD);
    const { ledger, run } = await working('t-1', { pid });
    leader.kill('SIGKILL');
    await once(leader, 'exit');

    const answer = await ledger.runs.reclaim({ taskId: 't-1', runId: run.run_id });

    expect(answer).toMatchObject({ outcome: 'refused', reason: 'worker_survived', terminated: false });
    expect(process.kill(-pid, 0)).toBe(true);
  }, 20_000);

  test('F-22: a sweep that was started by the dead worker itself is no worker, and brings the task back', async () => {
    const bench = cliBench();
    await done(bench, 'task create', '--id', 'task-1', '--title', 'Write it');
    // The sweep is of the group of the worker, and begins once the worker is gone.
    const script = `"$0" "$1" run claim --holder alice --task task-1 --pid $$ >&2
      { read -u 3; exec "$0" "$1" --json sweep; } &`;
    const worker = spawn('bash', ['-c', script, process.execPath, CLI_BIN], {
      cwd: bench.dir,
      detached: true,
      stdio: ['ignore', 'pipe', 'ignore', 'pipe'],
    });
    onTestFinished(() => killGroup(worker.pid ?? 0));
    const { stdout, stdio } = worker;
    if (stdout === null) throw new Error('the worker has no output');
    const report = text(stdout);
    await once(worker, 'exit');
    stdio[3]?.destroy();

    expect(JSON.parse(await report)).toMatchObject({ requeued: ['task-1'] });
  });

  test('F-21: a pid that a stranger has by now: no signal, and the task comes back', async () => {
    const { leader, pid } = await group(WAITS);
    const stranger = await identifyProcess(pid);
    if (stranger === null) throw new Error('processes can’t be named here');
    await using ledger = await openLedger('memory:');
    for (const taskId of ['t-1', 't-2']) await ledger.tasks.create({ taskId, title: 'work' });
    const before = { ...stranger, started_at_ticks: stranger.started_at_ticks - 1 };
    const run = await ledger.runs.claim({ taskId: 't-1', holder: 'w-a', process: before });
    await ledger.runs.claim({ taskId: 't-2', holder: 'w-b', process: before });
    if (run.outcome !== 'claimed') throw new Error(run.reason);

    expect(await ledger.runs.reclaim({ taskId: 't-1', runId: run.run_id })).toMatchObject({
      outcome: 'reclaimed',
    });
    expect(await createReconciler(ledger).sweep()).toMatchObject({ requeued: ['t-2'] });

    expect([leader.exitCode, leader.signalCode]).toEqual([null, null]);
    const [reclaimed] = await eventsOf(ledger, 'claim.reclaimed');
    expect(reclaimed).toMatchObject({ termination: { prev_pid: pid, termination_attempted: false } });
  });

  test('F-17: a worker that was claimed for under an old host name is known by its process, and keeps its task', async () => {
    const { leader, pid } = await group(WAITS);
    const clock = manualClock();
    await using ledger = await openLedger('memory:', { clock });
    await ledger.tasks.create({ taskId: 't-1', title: 'work' });
    const run = await ledger.runs.claim({ taskId: 't-1', holder: `old-name:${pid}`, ttlMs: 1000, pid });
    if (run.outcome !== 'claimed') throw new Error(run.reason);
    clock.advance(600_000);

    expect(await createReconciler(ledger).sweep()).toMatchObject({ requeued: [], extended: ['t-1'] });
    expect([leader.exitCode, leader.signalCode]).toEqual([null, null]);
    expect(await ledger.runs.claim({ taskId: 't-1', holder: `new-name:${pid}` })).toMatchObject({
      outcome: 'none',
      current_run_id: run.run_id,
    });
    const exited = once(leader, 'exit');
    await ledger.runs.reclaim({ taskId: 't-1', runId: run.run_id });
    expect(await exited).toEqual([null, 'SIGTERM']);
  });

  test.each([
    ['another machine', { boot_id: 'another-boot', machine_id: 'another-machine' }],
    ['another container', { pid_namespace: 'pid:[1]' }],
  ])(
    'F-17 and F-28: whoever has the pid of a worker of %s here is not signalled, and not taken for its end',
    async (_where, elsewhere) => {
      const { leader, pid } = await group(WAITS);
      const here = await identifyProcess(pid);
      if (here === null) throw new Error('processes can’t be named here');
      const clock = manualClock();
      await using ledger = await openLedger('memory:', { clock });
      for (const taskId of ['t-1', 't-2']) await ledger.tasks.create({ taskId, title: 'work' });
      const claim = { holder: 'w', ttlMs: 60_000, process: { ...here, ...elsewhere } };
      const run = await ledger.runs.claim({ ...claim, taskId: 't-1' });
      await ledger.runs.claim({ ...claim, taskId: 't-2' });
      if (run.outcome !== 'claimed') throw new Error(run.reason);
      const sweep = () => createReconciler(ledger).sweep();
      clock.advance(59_000);
      expect(await sweep()).toMatchObject({ requeued: [] });

      await ledger.runs.reclaim({ taskId: 't-1', runId: run.run_id });
      clock.advance(2000);
      expect(await sweep()).toMatchObject({ requeued: ['t-2'] });

      expect([leader.exitCode, leader.signalCode]).toEqual([null, null]);
      expect(await eventsOf(ledger, 'claim.reclaimed')).toMatchObject([
        { task_id: 't-1', termination: { prev_pid: pid, host_local: false, termination_attempted: false } },
        { task_id: 't-2', reason: 'lease_expired' },
      ]);
    },
  );

  test('F-29: a worker that was killed as it started, without a word, is one crash of one closed run', async () => {
    const { leader, pid } = await group(WAITS);
    const { ledger, run, sweep } = await working('t-1', { pid });
    const exited = once(leader, 'exit');
    killGroup(pid);
    await exited;

    const reports = [await sweep(), await sweep(), await sweep()];

    expect(reports).toMatchObject([{ requeued: ['t-1'] }, { requeued: [] }, { requeued: [] }]);
    expect(await eventsOf(ledger, 'run.ended')).toMatchObject([
      { run_id: run.run_id, outcome: 'crashed', error: `pid ${pid} not alive` },
    ]);
    expect(await ledger.tasks.get('t-1')).toMatchObject({ status: 'ready', consecutive_failures: 1 });
    expect(await ledger.custody.openRuns()).toEqual([]);
  });
});
