import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Ledger } from '@custody/ledger';
import type { RequestBodies, Starter } from '@custody/reconciler';
import { createStarter, fileRequestBodies } from '@custody/reconciler';
import { describe, expect, onTestFinished, test } from 'vitest';
import type { StoreKind } from '../contract/stores.ts';
import { STORES } from '../contract/stores.ts';
import { requested, started } from '../support/events.ts';
import type { Executor } from '../support/executor.ts';
import { executor } from '../support/executor.ts';
import { failingLedger } from '../support/failing-ledger.ts';
import { eventsOf, typesOf } from '../support/log.ts';

interface World {
  readonly ledger: Ledger;
  readonly daemon: Executor;
  readonly bodies: RequestBodies;
  readonly starter: Starter;
}

/** A task t-1 whose start inv-1 was sent and never answered. */
async function unanswered(kind: StoreKind): Promise<World> {
  const { ledger } = await kind.open();
  const folder = mkdtempSync(join(tmpdir(), 'custody-bodies-'));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  const daemon = executor();
  const bodies = fileRequestBodies(folder);
  const starter = createStarter({ ledger, gateway: daemon, bodies, newInvocationId: () => 'inv-1' });
  daemon.startAnswers.push({ outcome: 'unknown', reason: 'timeout' });
  await starter.start({
    task_id: 't-1',
    request: { prompt: 'do it', max_seconds: 30 },
    facts: {
      route: 'route-a',
      model: 'model-old',
      effort: 'low',
      execution_root: 'root-a',
      project_id: 'p-1',
      project_owned: true,
    },
  });
  return { ledger, daemon, bodies, starter };
}

describe.each(STORES)('a retry on $name', (kind) => {
  test('I3: sends what was sent, and all rows and the answer tell of the first try', async () => {
    const { ledger, daemon, starter } = await unanswered(kind);

    const answer = await starter.retry({ task_id: 't-1', retry_of: 'inv-1', prompt: 'do it' });

    expect(answer).toMatchObject({
      status: 'started',
      invocation_id: 'inv-1',
      run_id: 'run-of-inv-1',
      idempotent_recovery: true,
      facts: {
        route: 'route-a',
        model: 'model-old',
        effort: 'low',
        execution_root: 'root-a',
        project_id: 'p-1',
      },
    });
    expect(daemon.posts).toHaveLength(2);
    expect(daemon.posts[1]).toEqual(daemon.posts[0]);
    const rows = await eventsOf(ledger, 'run.start_requested', 'run.started');
    expect(rows).toHaveLength(3);
    for (const row of rows) {
      expect(row).toMatchObject({
        invocation_id: 'inv-1',
        route: 'route-a',
        model: 'model-old',
        effort: 'low',
        execution_root: 'root-a',
        project_id: 'p-1',
      });
    }
  });

  test('I4: a bound invocation is refused with its run', async () => {
    const { daemon, starter } = await unanswered(kind);
    await starter.retry({ task_id: 't-1', retry_of: 'inv-1' });

    const answer = await starter.retry({ task_id: 't-1', retry_of: 'inv-1' });

    expect(answer).toMatchObject({
      status: 'refused',
      reason: 'invocation_already_started',
      run_id: 'run-of-inv-1',
    });
    expect(daemon.posts).toHaveLength(2);
  });

  test.each<[string, string, Parameters<Starter['retry']>[0]]>([
    ['an unknown id', 'unknown_invocation', { task_id: 't-1', retry_of: 'inv-9' }],
    ['another task', 'foreign_invocation', { task_id: 't-2', retry_of: 'inv-1' }],
    [
      'another prompt',
      'retry_prompt_mismatch',
      { task_id: 't-1', retry_of: 'inv-1', prompt: 'do something else' },
    ],
  ])('I4: %s is refused as %s, and nothing is sent or written', async (_title, reason, request) => {
    const { ledger, daemon, starter } = await unanswered(kind);
    const before = await ledger.head();

    const answer = await starter.retry(request);

    expect(answer).toMatchObject({ status: 'refused', reason });
    expect(daemon.posts).toHaveLength(1);
    expect(await ledger.head()).toEqual(before);
  });

  test('I4: an invocation that was refused for good is not sent again', async () => {
    const { daemon, starter } = await unanswered(kind);
    daemon.startAnswers.push({ outcome: 'refused', code: 'quota', status: 402 });
    const refused = await starter.retry({ task_id: 't-1', retry_of: 'inv-1' });

    const answer = await starter.retry({ task_id: 't-1', retry_of: 'inv-1' });

    expect(refused).toMatchObject({
      status: 'refused',
      reason: 'start_refused',
      code: 'quota',
      idempotent_recovery: true,
    });
    expect(answer).toMatchObject({ status: 'refused', reason: 'invocation_definitely_refused' });
    expect(daemon.posts).toHaveLength(2);
  });

  test('2.4: a retry that is refused for good tells of the stored registration', async () => {
    const { ledger, daemon, starter } = await unanswered(kind);
    daemon.startAnswers.push({ outcome: 'refused', code: 'quota' });

    await starter.retry({ task_id: 't-1', retry_of: 'inv-1' });

    expect((await eventsOf(ledger, 'run.start_failed')).at(-1)).toMatchObject({
      definite: true,
      reason: 'start_refused_quota',
      project_id: 'p-1',
      project_retired: false,
      project_retention_reason: 'left_to_its_owner',
    });
  });

  test('2.4: without its body an invocation can not be sent again', async () => {
    const { ledger, daemon, starter } = await unanswered(kind);
    await ledger.append([requested('inv-2', 't-1', { request: null, request_ref: { kind: 'tape' } })]);

    const answer = await starter.retry({ task_id: 't-1', retry_of: 'inv-2' });

    expect(answer).toMatchObject({ status: 'refused', reason: 'invocation_request_unrecorded' });
    expect(daemon.posts).toHaveLength(1);
  });

  test('2.1: an old row with its body inline is sent again as it stands', async () => {
    const { ledger, daemon, starter } = await unanswered(kind);
    await ledger.append([requested('inv-2', 't-2', { request: { prompt: 'inline' } })]);

    const answer = await starter.retry({ task_id: 't-2', retry_of: 'inv-2' });

    expect(answer).toMatchObject({ status: 'started', invocation_id: 'inv-2' });
    expect(daemon.posts[1]).toMatchObject({ invocation_id: 'inv-2', request: { prompt: 'inline' } });
  });

  test('I9: a retry that the log does not take is not sent, and is not definite', async () => {
    const { ledger, daemon, bodies } = await unanswered(kind);
    const failing = failingLedger(ledger, (event) => event.type === 'run.start_requested');

    const answer = await createStarter({ ledger: failing, gateway: daemon, bodies }).retry({
      task_id: 't-1',
      retry_of: 'inv-1',
    });

    expect(answer).toMatchObject({
      status: 'refused',
      reason: 'start_request_row_unwritable',
      pending_invocation_id: 'inv-1',
      idempotent_recovery: true,
    });
    expect(daemon.posts).toHaveLength(1);
    expect((await ledger.custody.pendingInvocations()).map((item) => item.invocation_id)).toEqual(['inv-1']);
    expect((await eventsOf(ledger, 'run.start_failed')).map((event) => event['definite'])).toEqual([false]);
  });

  test('a refusal that the log does not take leaves the invocation pending, and the answer says so', async () => {
    const { ledger, daemon, bodies } = await unanswered(kind);
    daemon.startAnswers.push({ outcome: 'refused', code: 'quota' });
    const failing = failingLedger(ledger, (event) => event.type === 'run.start_failed');

    const answer = await createStarter({ ledger: failing, gateway: daemon, bodies }).retry({
      task_id: 't-1',
      retry_of: 'inv-1',
    });

    expect(answer).toMatchObject({
      status: 'refused',
      reason: 'start_refused',
      pending_invocation_id: 'inv-1',
    });
    expect(await ledger.custody.pendingInvocations()).toHaveLength(1);
  });

  test('two retries at once send one request', async () => {
    const { daemon, starter } = await unanswered(kind);

    const answers = await Promise.all([1, 2].map(() => starter.retry({ task_id: 't-1', retry_of: 'inv-1' })));

    expect(answers.map((answer) => answer.status)).toEqual(['started', 'refused']);
    expect(answers[1]).toMatchObject({ reason: 'invocation_already_started' });
    expect(daemon.posts).toHaveLength(2);
  });

  test('a start that a sweep recorded in the meantime is a start', async () => {
    const { ledger, daemon, starter } = await unanswered(kind);
    daemon.startAnswers.push({ outcome: 'run', run_id: 'run-1' });
    const { resubmit } = daemon;
    daemon.resubmit = async (submission) => {
      const answer = await resubmit(submission);
      await ledger.append([
        started('run-1', 't-1', {
          id: 'reconcile:started:inv-1:run-1',
          invocation_id: 'inv-1',
          recovered_from_pending_invocation: true,
        }),
      ]);
      return answer;
    };

    const answer = await starter.retry({ task_id: 't-1', retry_of: 'inv-1' });

    expect(answer).toMatchObject({ status: 'started', run_id: 'run-1', custody_durable: true });
    expect((await typesOf(ledger)).filter((type) => type === 'run.started')).toHaveLength(1);
  });
});
