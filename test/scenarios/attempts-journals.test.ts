import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { openJournals } from '@custody/ledger';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { COMMANDED_STORES, MANAGING_STORES, openDesk } from '../support/managed.ts';

const completed = {
  result: 'durable terminal result',
  structured: { status: 'completed', changed_files: [] },
};

describe.each(COMMANDED_STORES)('journals of results on $name', (kind) => {
  let directory = '';

  beforeEach(() => {
    directory = mkdtempSync(join(tmpdir(), 'custody-journal-'));
  });

  afterEach(() => {
    rmSync(directory, { recursive: true, force: true });
  });

  async function deskWithTask() {
    const desk = await openDesk(kind);
    await desk.ledger.tasks.create({ taskId: 't-1', title: 'work' });
    return { desk, ledger: desk.ledger, journals: openJournals(directory, { clock: desk.clock }) };
  }

  const files = () => readdirSync(directory).sort();
  const pendingOf = (runId: string) => `t-1.run-${runId}.terminal.pending.json`;
  const conflictOf = (runId: string) =>
    new RegExp(`^t-1\\.run-${runId}\\.terminal\\.conflict-\\d{8}T\\d{9}Z-[0-9a-f]{8}\\.json$`);

  test('S-01 the result of an older run is stale and changes nothing', async () => {
    const { desk, ledger } = await deskWithTask();
    const [r1] = await desk.toTriage('t-1');
    const before = await desk.everything();

    const answer = await ledger.runs.finalize({ taskId: 't-1', runId: r1.run_id, ...completed });

    expect(answer).toMatchObject({ outcome: 'refused', reason: 'not_latest_run' });
    expect(await desk.everything()).toBe(before);
  });

  test('S-02 the result of a run that nobody knows is stale', async () => {
    const { desk, ledger } = await deskWithTask();

    expect(await ledger.runs.finalize({ taskId: 't-1', runId: '42', ...completed })).toMatchObject({
      outcome: 'refused',
      reason: 'no_such_run',
    });
    expect(await ledger.runs.finalize({ taskId: 't-0', runId: '42', ...completed })).toMatchObject({
      outcome: 'refused',
      reason: 'no_such_task',
    });
    expect(await ledger.runs.list('t-1')).toEqual([]);
    expect((await desk.task('t-1')).status).toBe('ready');
  });

  test('S-03 a stale journal becomes a conflict file', async () => {
    const { desk, ledger, journals } = await deskWithTask();
    const [r1] = await desk.toTriage('t-1');
    const { pending } = await journals.write({ taskId: 't-1', runId: r1.run_id, ...completed });
    const before = await desk.everything();
    expect(pending).toBe(join(directory, pendingOf(r1.run_id)));

    const report = await journals.recover(ledger);

    expect(report).toMatchObject({ applied: 0, stale: 1, conflict: 0, retry: 0 });
    expect(report.files).toMatchObject([
      { task_id: 't-1', run_id: r1.run_id, outcome: 'stale', reason: 'not_latest_run' },
    ]);
    expect(files()).toEqual([expect.stringMatching(conflictOf(r1.run_id))]);
    expect(await desk.everything()).toBe(before);
    expect(await journals.recover(ledger)).toMatchObject({ applied: 0, stale: 0, files: [] });
  });

  test('D-02 the file of a completion that the ledger has is removed', async () => {
    const { desk, ledger, journals } = await deskWithTask();
    const r1 = await desk.claimAndBlock('t-1', 'capability');
    await journals.write({ taskId: 't-1', runId: r1.run_id, ...completed });
    const bytes = readFileSync(join(directory, pendingOf(r1.run_id)));
    await journals.recover(ledger);
    writeFileSync(join(directory, pendingOf(r1.run_id)), bytes);
    const before = await desk.everything();

    const report = await journals.recover(ledger);

    expect(report).toMatchObject({
      applied: 0,
      stale: 0,
      conflict: 0,
      files: [{ outcome: 'already_applied' }],
    });
    expect(files()).toEqual([]);
    expect(await desk.everything()).toBe(before);
  });

  test('D-03 other bytes of the run that completed the task are a conflict', async () => {
    const { desk, ledger, journals } = await deskWithTask();
    const r1 = await desk.claimAndBlock('t-1');
    await ledger.runs.complete({ taskId: 't-1', runId: r1.run_id, replay: true, result: 'first' });
    await journals.write({ taskId: 't-1', runId: r1.run_id, result: 'second' });

    expect(await journals.recover(ledger)).toMatchObject({ applied: 0, conflict: 1 });
    expect(files()).toEqual([expect.stringMatching(conflictOf(r1.run_id))]);
    expect((await desk.task('t-1')).result).toBe('first');
  });

  test('D-04 the result of the run that holds the task completes it', async () => {
    const { desk, ledger, journals } = await deskWithTask();
    const r1 = await desk.claim('t-1');
    await journals.write({ taskId: 't-1', runId: r1.run_id, ...completed });

    expect(await journals.recover(ledger)).toMatchObject({ applied: 1, files: [{ outcome: 'applied' }] });
    expect(await desk.task('t-1')).toMatchObject({
      status: 'completed',
      completed_run_id: r1.run_id,
      result: completed.result,
    });
    expect(files()).toEqual([]);
  });

  test('D-05 the result of a run that was blocked since is replayed, once', async () => {
    const { desk, ledger, journals } = await deskWithTask();
    const r1 = await desk.claimAndBlock('t-1');
    await journals.write({ taskId: 't-1', runId: r1.run_id, ...completed });

    expect(await journals.recover(ledger)).toMatchObject({ applied: 1 });
    expect(await journals.recover(ledger)).toMatchObject({ applied: 0, files: [] });
    expect(await desk.events('t-1', 'task.completed')).toHaveLength(1);
  });

  test('D-18 an unreadable journal takes the task back from the run that holds it', async () => {
    const { desk, ledger, journals } = await deskWithTask();
    const r1 = await desk.claim('t-1');
    writeFileSync(join(directory, pendingOf(r1.run_id)), '{"torn');

    expect(await journals.recover(ledger)).toMatchObject({ applied: 0, conflict: 1 });
    expect(files()).toEqual([expect.stringMatching(conflictOf(r1.run_id))]);
    expect(await desk.task('t-1')).toMatchObject({
      status: 'ready',
      current_run_id: null,
      runs: [{ outcome: 'reclaimed' }],
    });
  });

  test('D-18 the task is left to a worker that is alive and may still be writing', async () => {
    const { desk, ledger, journals } = await deskWithTask();
    desk.processes.start(42);
    const r1 = await desk.claim('t-1', { pid: 42 });
    writeFileSync(join(directory, pendingOf(r1.run_id)), '{"torn');

    expect(await journals.recover(ledger)).toMatchObject({ retry: 1, conflict: 0 });
    expect(files()).toEqual([pendingOf(r1.run_id)]);
    expect(desk.processes.signals).toEqual([]);

    desk.processes.end(42);
    expect(await journals.recover(ledger)).toMatchObject({ retry: 0, conflict: 1 });
    expect((await desk.task('t-1')).status).toBe('ready');
  });

  test('D-19 an unreadable journal of an ended run reclaims nothing and signals nobody', async () => {
    const { desk, ledger, journals } = await deskWithTask();
    const r1 = await desk.claimAndBlock('t-1');
    writeFileSync(join(directory, pendingOf(r1.run_id)), Buffer.from([0xff, 0xfe]));
    const before = await desk.everything();

    expect(await journals.recover(ledger)).toMatchObject({ applied: 0, conflict: 1 });
    expect(await desk.everything()).toBe(before);
    expect(desk.processes.signals).toEqual([]);
  });

  test('D-21 of two results in one folder the latest run wins, whatever the order', async () => {
    const { desk, ledger, journals } = await deskWithTask();
    const [r1, r2] = await desk.toTriage('t-1');
    await journals.write({ taskId: 't-1', runId: r2.run_id, result: 'two' });
    await journals.write({ taskId: 't-1', runId: r1.run_id, result: 'one' });

    expect(await journals.recover(ledger)).toMatchObject({ applied: 1, stale: 1 });
    expect(await desk.task('t-1')).toMatchObject({
      status: 'completed',
      completed_run_id: r2.run_id,
      result: 'two',
    });
    expect(files()).toEqual([expect.stringMatching(conflictOf(r1.run_id))]);
  });

  test('a run accepts one result: the same again is nothing, another one is refused', async () => {
    const { desk, journals } = await deskWithTask();
    const r1 = await desk.claim('t-1');
    await journals.write({ taskId: 't-1', runId: r1.run_id, result: { a: 1, b: 2 } });
    const bytes = readFileSync(join(directory, pendingOf(r1.run_id)), 'utf8');
    desk.clock.advance(1000);

    await journals.write({ taskId: 't-1', runId: r1.run_id, result: { b: 2, a: 1 } });
    expect(readFileSync(join(directory, pendingOf(r1.run_id)), 'utf8')).toBe(bytes);
    await expect(journals.write({ taskId: 't-1', runId: r1.run_id, result: 'other' })).rejects.toMatchObject({
      code: 'journal_conflict',
    });
  });

  test('a journal whose name is another run than its content is set aside', async () => {
    const { desk, ledger, journals } = await deskWithTask();
    const r1 = await desk.claimAndBlock('t-1');
    await journals.write({ taskId: 't-1', runId: r1.run_id, result: 'mine' });
    writeFileSync(join(directory, pendingOf('run-x')), readFileSync(join(directory, pendingOf(r1.run_id))));

    expect(await journals.recover(ledger)).toMatchObject({ applied: 1, conflict: 1 });
    expect(files()).toEqual([expect.stringMatching(conflictOf('run-x'))]);
  });

  test('a conflict file is never overwritten, and other files are left alone', async () => {
    const { desk, ledger, journals } = await deskWithTask();
    const [r1] = await desk.toTriage('t-1');
    writeFileSync(join(directory, 'notes.txt'), 'mine');
    for (let round = 0; round < 3; round += 1) {
      await journals.write({ taskId: 't-1', runId: r1.run_id, result: 'same' });
      await journals.recover(ledger);
    }

    expect(files().filter((name) => name.includes('conflict'))).toHaveLength(3);
    expect(readFileSync(join(directory, 'notes.txt'), 'utf8')).toBe('mine');
  });
});

test('a folder that is not there holds no journals', async () => {
  const desk = await openDesk(MANAGING_STORES[0] as (typeof MANAGING_STORES)[number]);

  expect(await openJournals('/nonexistent/journals').recover(desk.ledger)).toEqual({
    applied: 0,
    stale: 0,
    conflict: 0,
    retry: 0,
    files: [],
  });
});
