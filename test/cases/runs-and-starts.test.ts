import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { JsonObject, Ledger } from '@custody/ledger';
import { identifyProcess, openLedger } from '@custody/ledger';
import type { RunGateway } from '@custody/reconciler';
import {
  createReconciler,
  createStarter,
  fileRequestBodies,
  processGateway,
  reconcileOrphans,
} from '@custody/reconciler';
import { describe, expect, onTestFinished, test } from 'vitest';
import { STORES } from '../contract/stores.ts';
import { event, requested, settled, started } from '../support/events.ts';
import { AWAY, ended, executor, LIVE } from '../support/executor.ts';
import { failingLedger } from '../support/failing-ledger.ts';
import { eventsOf, typesOf } from '../support/log.ts';
import { manualClock } from '../support/manual-clock.ts';
import { failedRow, listOf, putRow } from '../support/terminal-rows.ts';

const nobody: ReadonlySet<string> = new Set();

const openIds = async (ledger: Ledger) => (await ledger.custody.openRuns()).map((run) => run.run_id);

function orphans(ledger: Ledger, gateway: RunGateway) {
  return reconcileOrphans({ ledger, rows: ledger.rows }, { live: nobody, gateway: () => gateway });
}

/** How a row looks whose owner did not mean to end. */
const CRASHED: JsonObject = { outcome_axes: { execution: { status: 'infra_failed' } } };

const DELIBERATE_END: JsonObject = {
  status: 'cancelled',
  outcome_axes: { execution: { status: 'cancelled' } },
};

describe.each(STORES)('silence and age are no proof, on $name', ({ open }) => {
  test.each([
    ['is alive', LIVE],
    ['can’t be asked', AWAY],
  ])(
    'B10 and B104: a run that %s is open after any number of sweeps and any time; its end then counts once',
    async (_what, lookup) => {
      const clock = manualClock();
      const { ledger } = await open({ clock });
      await ledger.append([started('r-elm-1', 't-elm', { max_seconds: 30 })]);
      await putRow(ledger, failedRow('t-elm', ['r-elm-1'], CRASHED));
      const daemon = executor({ 'r-elm-1': lookup });
      const reconciler = createReconciler(ledger, { liveTaskIds: nobody, gateway: () => daemon });
      for (const seconds of [40, 70, 94, 2400, 86_400 * 365]) {
        clock.advance(seconds * 1000);
        expect(await reconciler.sweep()).toMatchObject({ failed: [] });
      }
      expect(await openIds(ledger)).toEqual(['r-elm-1']);
      expect(await listOf(ledger, 't-elm')).toEqual(['r-elm-1']);
      expect(daemon.cancels).toEqual([]);

      daemon.runs.set('r-elm-1', ended());
      expect(await reconciler.sweep()).toMatchObject({ refreshed: ['t-elm'] });
      expect(await eventsOf(ledger, 'run.settled')).toHaveLength(1);
    },
  );

  test('B14: a sweep ends only what is proven to have ended', async () => {
    const { ledger } = await open();
    await ledger.append(['1', '2', '3'].map((n) => started(`r-d${n}`, `t-d${n}`)));
    await putRow(ledger, failedRow('t-d2', ['r-d2']));
    const daemon = executor({ 'r-d1': LIVE, 'r-d2': ended(), 'r-d3': LIVE, 'r-d4': LIVE });
    // While the sweep looks around, a fourth comes into being.
    daemon.beforeLookup = async (run) => {
      if (run === 'r-d2') await ledger.append([started('r-d4', 't-d4')]);
    };

    await createReconciler(ledger, { liveTaskIds: ['t-d1'], gateway: () => daemon }).sweep();

    expect(await openIds(ledger)).toEqual(['r-d1', 'r-d3', 'r-d4']);
    expect(daemon.cancels).toEqual([]);
    expect(daemon.lookups).not.toContain('r-d1');
  });

  test('B50: a store that is away in the middle loses no orphan: the next pass takes the others', async () => {
    const { ledger } = await open();
    const runs = Array.from({ length: 250 }, (_, index) => `r-${String(index).padStart(3, '0')}`);
    await ledger.append(runs.map((run) => started(run, `t-${run}`)));
    let taken = 0;
    const refused = new Set(['run.settled']);
    const flaky = failingLedger(ledger, ({ type }) => {
      if (type === 'run.settled') taken += 1;
      return refused.has(type) && taken > 40;
    });
    const daemon = executor(Object.fromEntries(runs.map((run) => [run, ended()])));

    await orphans(flaky, daemon).catch(() => undefined);
    const left = (await openIds(ledger)).length;
    refused.clear();
    await orphans(flaky, daemon);

    expect(left).toBe(210);
    expect(await openIds(ledger)).toEqual([]);
    expect(await eventsOf(ledger, 'run.settled')).toHaveLength(250);
  });

  test('12.2 #788: the death of a supervisor cancels none of its healthy runs', async () => {
    const { ledger } = await open();
    await ledger.append(['a', 'b', 'c'].map((name) => started(`run-${name}`, 't-sup')));
    await putRow(ledger, failedRow('t-sup', [], CRASHED));
    const daemon = executor({ 'run-a': LIVE, 'run-b': LIVE, 'run-c': LIVE });

    const { outcomes } = await orphans(ledger, daemon);

    expect(outcomes.map(({ action }) => action)).toEqual(['left_live', 'left_live', 'left_live']);
    expect(daemon.cancels).toEqual([]);
    expect(await openIds(ledger)).toHaveLength(3);
  });

  test('12.2 #850: a stop reaches a start whose run id was never recorded', async () => {
    const { ledger } = await open();
    await ledger.append([requested('inv-1', 't-stop')]);
    await putRow(ledger, { task_id: 't-stop', ...DELIBERATE_END });
    const daemon = executor({ 'run-of-inv-1': LIVE });

    await orphans(ledger, daemon);

    expect(daemon.posts.map((post) => post.invocation_id)).toEqual(['inv-1']);
    expect(daemon.cancels.map(([run]) => run)).toEqual(['run-of-inv-1']);
    // Asked to stop is not stopped.
    expect(await openIds(ledger)).toEqual(['run-of-inv-1']);
  });

  test('12.2 #1006: the reviewer of a task is neither its debt nor stopped with it, unless the task was cancelled', async () => {
    const { ledger } = await open();
    await ledger.append([
      started('run-leaf', 't-1'),
      started('run-review', 't-1', { source: 'review_substrate_panel' }),
    ]);
    await putRow(ledger, failedRow('t-1', [], { outcome_axes: { execution: { status: 'failed' } } }));
    const daemon = executor({ 'run-leaf': LIVE, 'run-review': LIVE });

    await orphans(ledger, daemon);

    expect(daemon.cancels.map(([run]) => run)).toEqual(['run-leaf']);
    expect(await createReconciler(ledger).audit(['t-1'])).toMatchObject({
      tasks: [{ audit: { unreconciled: ['run-leaf'] } }],
    });
  });

  test('12.1 #618: a registration that is still shared is no failed settlement', async () => {
    const { ledger } = await open();
    const project = { project_id: 'p-1', project_owned: true };
    await ledger.append([
      started('run-1', 't-1', project),
      started('run-2', 't-2', project),
      settled('run-1'),
    ]);
    await putRow(ledger, failedRow('t-1', ['run-1']));

    await createReconciler(ledger).clear('t-1');

    expect(await listOf(ledger, 't-1')).toEqual([]);
    // The last one discharges for all.
    await ledger.append([settled('run-2'), event('project.retired', { run_id: 'run-2', project_id: 'p-1' })]);
    expect(await createReconciler(ledger).audit(['t-1', 't-2'])).toMatchObject({
      tasks: [
        { audit: { deferred_project_retirements: [] } },
        { audit: { deferred_project_retirements: [] } },
      ],
    });
  });

  test('12.1 #184: an end that comes after its owner’s end surfaces on the row of the owner', async () => {
    const clock = manualClock();
    const { ledger } = await open({ clock });
    await ledger.append([started('run-child', 't-parent')]);
    await putRow(ledger, {
      task_id: 't-parent',
      status: 'completed',
      delegated_runs_unreconciled: ['run-child'],
    });
    clock.advance(29 * 60_000);
    await ledger.append([settled('run-child', { cost_usd: 21.14 })]);

    expect(await createReconciler(ledger).sweep()).toMatchObject({ refreshed: ['t-parent'] });

    expect((await ledger.rows.load('t-parent'))?.row.value).toMatchObject({
      status: 'completed',
      delegate_terminal_reconciliation: { terminal_runs: [{ run_id: 'run-child', state: 'succeeded' }] },
    });
  });
});

function starting(taskId: string, prompt = 'do it') {
  return { task_id: taskId, request: { prompt }, facts: { route: 'route-a' } };
}

function starter(ledger: Ledger, gateway: RunGateway) {
  const folder = mkdtempSync(join(tmpdir(), 'custody-bodies-'));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  return createStarter({ ledger, gateway, bodies: fileRequestBodies(folder) });
}

describe.each(STORES)('one start, one run, on $name', ({ open }) => {
  test('B48: a start whose answer was lost is not made again by 20 clients, and finished by a retry', async () => {
    const { ledger } = await open();
    const daemon = executor();
    daemon.startAnswers.push({ outcome: 'unknown', reason: 'the reply was lost' });
    const starts = starter(ledger, daemon);
    const first = await starts.start(starting('t-jade'));
    expect(first).toMatchObject({ status: 'refused', reason: 'daemon_unreachable' });

    const others = await Promise.all(Array.from({ length: 20 }, () => starts.start(starting('t-jade'))));

    expect(new Set(others.map((answer) => 'reason' in answer && answer.reason))).toEqual(
      new Set(['replacement_requires_settlement']),
    );
    const id = daemon.posts[0]?.invocation_id ?? '';
    expect(
      await starts.retry({ task_id: 't-jade', retry_of: id, prompt: 'do something else' }),
    ).toMatchObject({
      reason: 'retry_prompt_mismatch',
    });
    expect(await starts.retry({ task_id: 't-jade', retry_of: id, prompt: 'do it' })).toMatchObject({
      status: 'started',
      run_id: `run-of-${id}`,
    });
    expect(new Set(daemon.posts.map((post) => post.invocation_id))).toEqual(new Set([id]));
    expect(await openIds(ledger)).toEqual([`run-of-${id}`]);
  });

  test('B05: a crash after the spawn and before its record: the intent is told, no second run is made, the late end is taken', async () => {
    const { ledger } = await open();
    const daemon = executor();
    const killed = failingLedger(ledger, ({ type }) => type === 'run.started');
    expect(await starter(killed, daemon).start(starting('t-bay'))).toMatchObject({
      status: 'started_uncustodied',
    });
    const [post] = daemon.posts;
    const reconciler = createReconciler(ledger);
    for (let boot = 0; boot < 2; boot += 1) await reconciler.backfill();

    expect(await reconciler.audit()).toMatchObject({
      tasks: [{ audit: { pending_invocation_ids: [post?.invocation_id] } }],
    });
    expect(await starter(ledger, daemon).start(starting('t-bay'))).toMatchObject({
      reason: 'replacement_requires_settlement',
    });
    expect(daemon.posts).toHaveLength(1);
    await ledger.append([settled(`run-of-${post?.invocation_id}`, { task_id: 't-bay' })]);
    expect(await typesOf(ledger)).toEqual(['run.start_requested', 'run.settled']);
  });

  test('B48: a repeated event is told by its meaning: the order of its keys does not matter, its content does', async () => {
    const { ledger } = await open();
    await ledger.append([{ id: 'k9', ...started('r-1', 't-1'), payload: { a: 1, b: { c: 2, d: [3] } } }]);

    const again = { payload: { b: { d: [3], c: 2 }, a: 1 }, ...started('r-1', 't-1'), id: 'k9' };
    expect(await ledger.append([again])).toMatchObject({ appended: 0, duplicates: 1 });
    await expect(ledger.append([{ ...again, payload: { a: 9 } }])).rejects.toMatchObject({
      code: 'event_id_conflict',
    });
  });
});

describe.runIf(process.platform === 'linux')('processes of this host', () => {
  /** A shell that leads a group, and a child of it that takes no notice of SIGTERM. */
  async function stubbornTree() {
    const shell = spawn(
      'bash',
      ['-c', 'bash -c \'trap "" TERM; echo ready; while :; do read -t 60 <> <(:); done\' & wait'],
      {
        detached: true,
        stdio: ['ignore', 'pipe', 'ignore'],
      },
    );
    const { pid = 0 } = shell;
    onTestFinished(() => {
      process.kill(-pid, 'SIGKILL');
    });
    await once(shell.stdout, 'data');
    return { shell, process: await identifyProcess(pid) };
  }

  test('B34: asked to stop is not stopped while anything of its tree lives, and nothing is started beside it', async () => {
    await using ledger = await openLedger('memory:');
    const tree = await stubbornTree();
    await ledger.append([started('r-fern-1', 't-fern', { process: { ...tree.process } })]);
    await putRow(ledger, { task_id: 't-fern', ...DELIBERATE_END });
    const gateway = processGateway();
    const exited = once(tree.shell, 'exit');

    const first = await orphans(ledger, gateway);
    await exited;
    const second = await orphans(ledger, gateway);

    expect(first.outcomes).toMatchObject([{ run_id: 'r-fern-1', action: 'cancelled' }]);
    expect(second.outcomes).toMatchObject([{ run_id: 'r-fern-1', action: 'unreadable' }]);
    expect(await openIds(ledger)).toEqual(['r-fern-1']);
    const daemon = executor();
    expect(await starter(ledger, daemon).start(starting('t-fern'))).toMatchObject({
      reason: 'replacement_requires_settlement',
      open_run_ids: ['r-fern-1'],
    });
    expect(daemon.posts).toEqual([]);
  });

  test('B46: only a process that is gone, or another one under its pid, is proof', async () => {
    await using ledger = await openLedger('memory:');
    const own = await identifyProcess(process.pid);
    const first = await identifyProcess(1);
    const gone = spawn(process.execPath, ['-e', 'process.stdin.resume()'], {
      stdio: ['pipe', 'ignore', 'ignore'],
    });
    const dead = await identifyProcess(gone.pid ?? 0);
    gone.kill('SIGKILL');
    await once(gone, 'exit');
    if (own === null || first === null || dead === null) throw new Error('processes can’t be named here');
    const cases: readonly (readonly [string, JsonObject])[] = [
      ['r-own', { process: { ...own } }],
      ['r-others', { process: { ...first } }],
      ['r-gone', { process: { ...dead } }],
      ['r-reused', { process: { ...own, started_at_ticks: own.started_at_ticks + 1 } }],
      ['r-elsewhere', { process: { ...own, machine_id: 'another', boot_id: 'another' } }],
      ['r-unnamed', { process: { pid: process.pid } }],
    ];
    await ledger.append(cases.map(([run, more]) => started(run, `t-${run}`, more)));

    const { outcomes } = await orphans(ledger, processGateway());

    expect(Object.fromEntries(outcomes.map((outcome) => [outcome['run_id'], outcome.action]))).toEqual({
      'r-own': 'left_live',
      'r-others': 'left_live',
      'r-gone': 'absent',
      'r-reused': 'absent',
      'r-elsewhere': 'unreadable',
      'r-unnamed': 'unreadable',
    });
    expect(await openIds(ledger)).toEqual(['r-own', 'r-others', 'r-elsewhere', 'r-unnamed']);
  });
});
