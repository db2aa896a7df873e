import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { JsonObject, Ledger } from '@custody/ledger';
import { invocationState } from '@custody/ledger';
import type { RunGateway, Starter, StarterPorts, StartRequest } from '@custody/reconciler';
import { createStarter, fileRequestBodies, ownershipOf } from '@custody/reconciler';
import { describe, expect, onTestFinished, test } from 'vitest';
import { STORES } from '../contract/stores.ts';
import { executor } from '../support/executor.ts';
import { failingLedger } from '../support/failing-ledger.ts';
import { eventsOf, typesOf } from '../support/log.ts';

const FACTS: JsonObject = {
  route: 'route-a',
  model: 'model-old',
  effort: 'low',
  execution_root: 'root-a',
  project_id: 'p-1',
  project_owned: true,
};

function starting(taskId: string, more: Partial<StartRequest> = {}): StartRequest {
  return { task_id: taskId, request: { prompt: 'do it' }, facts: FACTS, ...more };
}

function temporaryFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), 'custody-bodies-'));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  return folder;
}

/** A starter whose invocations are called inv-1, inv-2, ... */
function starter(ledger: Ledger, gateway: RunGateway, more: Partial<StarterPorts> = {}): Starter {
  let count = 0;
  return createStarter({
    ledger,
    gateway,
    bodies: fileRequestBodies(temporaryFolder()),
    newInvocationId: () => {
      count += 1;
      return `inv-${count}`;
    },
    ...more,
  });
}

async function pendingIds(ledger: Ledger): Promise<readonly string[]> {
  return (await ledger.custody.pendingInvocations()).map((item) => item.invocation_id);
}

async function stateOf(ledger: Ledger, invocationId: string): Promise<string | null> {
  const record = await ledger.custody.invocation(invocationId);
  return record === null ? null : invocationState(record);
}

describe.each(STORES)('a start on $name', (kind) => {
  test('2.2: the request is in the log, without its body, before anything is sent', async () => {
    const { ledger } = await kind.open();
    const daemon = executor();
    const seen: (readonly string[])[] = [];
    const watching: RunGateway = {
      ...daemon,
      submit: async (submission) => {
        seen.push(await typesOf(ledger));
        return daemon.resubmit(submission);
      },
    };

    const answer = await starter(ledger, watching).start(starting('t-1'));

    expect(answer).toMatchObject({
      status: 'started',
      run_id: 'run-of-inv-1',
      invocation_id: 'inv-1',
      task_id: 't-1',
      custody_durable: true,
      idempotent_recovery: false,
      facts: FACTS,
    });
    expect(seen).toEqual([['run.start_requested']]);
    const [request, start] = await eventsOf(ledger);
    expect(request).toMatchObject({
      invocation_id: 'inv-1',
      prompt_chars: 5,
      request_ref: { kind: 'file' },
      route: 'route-a',
    });
    expect(request).not.toHaveProperty('request');
    expect(start).toMatchObject({
      type: 'run.started',
      run_id: 'run-of-inv-1',
      invocation_id: 'inv-1',
      ...FACTS,
    });
    expect(daemon.posts).toMatchObject([{ invocation_id: 'inv-1', request: { prompt: 'do it' } }]);
    expect(await pendingIds(ledger)).toEqual([]);
  });

  test('I1: a transport error leaves a pending invocation, whose id is the key that was on the wire', async () => {
    const { ledger } = await kind.open();
    const daemon = executor();
    daemon.startAnswers.push({ outcome: 'unknown', reason: 'ECONNRESET' });

    const answer = await starter(ledger, daemon).start(starting('t-1'));

    expect(answer).toMatchObject({
      status: 'refused',
      reason: 'daemon_unreachable',
      pending_invocation_id: 'inv-1',
      detail: 'ECONNRESET',
    });
    expect(answer).toHaveProperty('retry_hint', expect.stringContaining('retry_of=inv-1'));
    expect(daemon.posts.map((post) => post.invocation_id)).toEqual(['inv-1']);
    expect(await pendingIds(ledger)).toEqual(['inv-1']);
    expect(await ledger.custody.openRuns()).toEqual([]);
    expect((await eventsOf(ledger, 'run.start_failed'))[0]).toMatchObject({
      definite: false,
      reason: 'daemon_unreachable',
      project_id: 'p-1',
      project_retired: false,
      project_retention_reason: 'start_outcome_unknown_run_may_exist',
    });
  });

  test('I2: while it is pending, the same start again is refused without anything being sent', async () => {
    const { ledger } = await kind.open();
    const daemon = executor();
    daemon.startAnswers.push({ outcome: 'unknown', reason: 'timeout' });
    const { start } = starter(ledger, daemon);
    await start(starting('t-1'));

    const answer = await start(starting('t-1'));

    expect(answer).toMatchObject({
      status: 'refused',
      reason: 'replacement_requires_settlement',
      open_run_ids: [],
      pending_invocation_ids: ['inv-1'],
      undisposed_patch_run_ids: [],
    });
    expect(answer).toHaveProperty('message', expect.stringMatching(/inv-1.*retry_of/));
    expect(daemon.posts).toHaveLength(1);
  });

  test('2.2: open runs and patches block too; the text names four of them', async () => {
    const { ledger } = await kind.open();
    await ledger.append([
      ...['run-1', 'run-2', 'run-3', 'run-4'].map((id) => ({
        type: 'run.started',
        run_id: id,
        task_id: 't-1',
      })),
      { type: 'run.started', run_id: 'run-5', task_id: 't-1', snapshot_id: 'snap-5' },
      { type: 'run.settled', run_id: 'run-5', state: 'succeeded' },
    ]);
    const daemon = executor();

    const answer = await starter(ledger, daemon).start(starting('t-1'));

    expect(answer).toMatchObject({
      reason: 'replacement_requires_settlement',
      open_run_ids: ['run-1', 'run-2', 'run-3', 'run-4'],
      undisposed_patch_run_ids: ['run-5'],
    });
    expect(answer).toHaveProperty('message', expect.stringContaining('run-1, run-2, run-3, run-4 (+1 more)'));
    expect(daemon.posts).toEqual([]);
  });

  test('2.2: a start that goes on in its predecessor’s snapshot is not blocked by it, and takes its patch over', async () => {
    const { ledger } = await kind.open();
    await ledger.append([
      { type: 'run.started', run_id: 'run-1', task_id: 't-1', snapshot_id: 'snap-1' },
      { type: 'run.settled', run_id: 'run-1', state: 'succeeded' },
    ]);
    const { start } = starter(ledger, executor());

    const foreign = await start(
      starting('t-1', { facts: { continuation_of: 'run-1', snapshot_id: 'snap-2', capture_id: 'cap-1' } }),
    );
    const answer = await start(
      starting('t-1', { facts: { continuation_of: 'run-1', snapshot_id: 'snap-1', capture_id: 'cap-1' } }),
    );

    expect(foreign).toMatchObject({ status: 'refused', undisposed_patch_run_ids: ['run-1'] });
    expect(answer).toMatchObject({ status: 'started' });
    expect(await ledger.custody.run('run-1')).toMatchObject({ patch_disposed: 'superseded' });
  });

  test('2.2: two starts of one task at once send one request', async () => {
    const { ledger } = await kind.open();
    const daemon = executor();
    const { start } = starter(ledger, daemon);

    const answers = await Promise.all([
      start(starting('t-1')),
      start(starting('t-1')),
      start(starting('t-2')),
    ]);

    expect(answers.map((answer) => answer.status)).toEqual(['started', 'refused', 'started']);
    expect(daemon.posts).toHaveLength(2);
    expect(new Set(daemon.posts.map((post) => post.task_id))).toEqual(new Set(['t-1', 't-2']));
  });

  test('2.2: a start that can not have its turn in time is refused as unknown', async () => {
    const { ledger } = await kind.open();
    const daemon = executor();
    const locks = { hold: async () => ({ outcome: 'timeout' as const }) };

    const answer = await starter(ledger, daemon, { locks }).start(starting('t-1'));

    expect(answer).toMatchObject({ status: 'refused', reason: 'replacement_custody_unknown' });
    expect(daemon.posts).toEqual([]);
    expect(await typesOf(ledger)).toEqual([]);
  });

  test.each(['can not be read', 'breaks when it is read'])(
    '2.2: a log that %s refuses every start',
    async (title) => {
      const { ledger } = await kind.open();
      const daemon = executor();
      const custody =
        title === 'can not be read'
          ? { ...ledger.custody, isReadable: async () => false }
          : {
              ...ledger.custody,
              tasks: () => Promise.reject(new Error('I/O error')),
              invocation: () => Promise.reject(new Error('I/O error')),
            };
      const unreadable = starter({ ...ledger, custody }, daemon);

      const started = await unreadable.start(starting('t-1'));
      const retried = await unreadable.retry({ task_id: 't-1', retry_of: 'inv-1' });

      for (const answer of [started, retried]) {
        expect(answer).toMatchObject({
          status: 'refused',
          reason: 'replacement_custody_unknown',
          custody_log_unreadable: true,
        });
      }
      expect(daemon.posts).toEqual([]);
    },
  );

  test('I5: a definite refusal leaves nothing pending, and the next plain start has a new id', async () => {
    const { ledger } = await kind.open();
    const daemon = executor();
    daemon.startAnswers.push({ outcome: 'refused', code: 'bad_model', status: 400, reason: 'no such model' });
    const { start } = starter(ledger, daemon);

    const refused = await start(starting('t-1'));
    const answer = await start(starting('t-1'));

    expect(refused).toMatchObject({ status: 'refused', reason: 'start_refused', code: 'bad_model' });
    expect(refused).not.toHaveProperty('pending_invocation_id');
    expect(await stateOf(ledger, 'inv-1')).toBe('failed_definite');
    expect(answer).toMatchObject({ status: 'started', invocation_id: 'inv-2' });
  });

  test.each<[string, JsonObject, string]>([
    [
      'I6: a plain registration is left to its owner',
      { project_id: 'p-1', project_owned: true },
      'left_to_its_owner',
    ],
    [
      'I11: a persistent one is kept',
      { project_id: 'p-1', project_owned: true, project_persistent: true },
      'persistent_registration',
    ],
  ])('%s after a definite refusal, which lands', async (_title, facts, reason) => {
    const { ledger } = await kind.open();
    const daemon = executor();
    daemon.startAnswers.push({ outcome: 'refused', code: 'http_422', status: 422 });

    await starter(ledger, daemon).start(starting('t-1', { facts }));

    expect((await eventsOf(ledger, 'run.start_failed'))[0]).toMatchObject({
      definite: true,
      status: 422,
      project_id: 'p-1',
      project_retired: false,
      project_retention_reason: reason,
    });
  });

  test('I7: an answer without a run id is pending, with its registration named', async () => {
    const { ledger } = await kind.open();
    const daemon = executor();
    daemon.startAnswers.push({ outcome: 'pending' });

    const answer = await starter(ledger, daemon).start(starting('t-1'));

    expect(answer).toMatchObject({
      status: 'refused',
      reason: 'queued_without_run_id',
      pending_invocation_id: 'inv-1',
    });
    expect((await eventsOf(ledger, 'run.start_failed'))[0]).toMatchObject({
      definite: false,
      reason: 'queued_without_run_id',
      project_id: 'p-1',
      project_retention_reason: 'start_outcome_unknown_run_may_exist',
    });
    expect(await pendingIds(ledger)).toEqual(['inv-1']);
  });

  test('I8: an exception in between is recorded as indefinite and goes on to the caller', async () => {
    const { ledger } = await kind.open();
    const daemon = executor();
    daemon.startAnswers.push(() => {
      throw new RangeError('Array buffer allocation failed');
    });
    const { start } = starter(ledger, daemon);

    await expect(start(starting('t-1'))).rejects.toThrow('Array buffer allocation failed');

    expect((await eventsOf(ledger, 'run.start_failed'))[0]).toMatchObject({
      definite: false,
      reason: 'pre_custody_exit_RangeError',
      project_id: 'p-1',
      project_retired: false,
    });
    expect(await pendingIds(ledger)).toEqual(['inv-1']);
    // The turn was given back.
    expect(await start(starting('t-1'))).toMatchObject({ reason: 'replacement_requires_settlement' });
  });

  test('2.3: a request that the log does not take is not sent', async () => {
    const { ledger } = await kind.open();
    const daemon = executor();

    const answer = await starter(
      failingLedger(ledger, (event) => event.type === 'run.start_requested'),
      daemon,
    ).start(starting('t-1'));

    expect(answer).toMatchObject({ status: 'refused', reason: 'start_request_row_unwritable' });
    expect(answer).not.toHaveProperty('pending_invocation_id');
    expect(daemon.posts).toEqual([]);
    expect(await pendingIds(ledger)).toEqual([]);
    expect(await eventsOf(ledger)).toMatchObject([
      { type: 'run.start_failed', definite: true, reason: 'start_request_row_unwritable' },
    ]);
  });

  test('I13: a body that can not be stored is not sent, and leaves no request in the log', async () => {
    const { ledger } = await kind.open();
    const daemon = executor();
    const folder = temporaryFolder();
    writeFileSync(join(folder, 'bodies'), 'a file where the folder should be');

    const answer = await starter(ledger, daemon, { bodies: fileRequestBodies(join(folder, 'bodies')) }).start(
      starting('t-1'),
    );

    expect(answer).toMatchObject({
      status: 'refused',
      reason: 'start_request_row_unwritable',
      detail: expect.stringMatching(/EEXIST|ENOTDIR/),
    });
    expect(daemon.posts).toEqual([]);
    expect(await eventsOf(ledger, 'run.start_requested')).toEqual([]);
  });

  test('I10: a run whose start the log does not take is told as such and can be found again', async () => {
    const { ledger } = await kind.open();
    const daemon = executor();
    const bodies = fileRequestBodies(temporaryFolder());

    const answer = await starter(
      failingLedger(ledger, (event) => event.type === 'run.started'),
      daemon,
      { bodies },
    ).start(starting('t-1'));

    expect(answer).toMatchObject({
      status: 'started_uncustodied',
      run_id: 'run-of-inv-1',
      invocation_id: 'inv-1',
      pending_invocation_id: 'inv-1',
      custody_durable: false,
    });
    expect(ownershipOf(await ledger.custody.run('run-of-inv-1'), 't-1')).toBe('unknown');
    expect(await pendingIds(ledger)).toEqual(['inv-1']);

    const found = await starter(ledger, daemon, { bodies }).retry({ task_id: 't-1', retry_of: 'inv-1' });

    expect(found).toMatchObject({ status: 'started', run_id: 'run-of-inv-1', idempotent_recovery: true });
    expect(ownershipOf(await ledger.custody.run('run-of-inv-1'), 't-1')).toBe('owned');
    expect(ownershipOf(await ledger.custody.run('run-of-inv-1'), 't-2')).toBe('foreign');
    expect([...daemon.runs.keys()]).toEqual(['run-of-inv-1']);
  });
});
