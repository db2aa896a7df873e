import { writeFileSync } from 'node:fs';
import { openLedger } from '@custody/ledger';
import { describe, expect, test } from 'vitest';
import { callApi } from '../support/api-calls.ts';
import type { CliBench } from '../support/cli.ts';
import { cliBench } from '../support/cli.ts';
import { done, held, refused, runsOf, underFence } from '../support/cli-managed.ts';
import { cuttingProxy } from '../support/cutting-proxy.ts';
import { servedLedger, startListening } from '../support/served-pair.ts';

/** The command with `-s URL`. */
function over(bench: CliBench, url: string): CliBench {
  const at = (args: readonly string[]) => ['-s', url, ...args];
  return {
    ...bench,
    run: (args, input) => bench.run(at(args), input),
    json: (args, input) => bench.json(at(args), input),
    lines: (args, input) => bench.lines(at(args), input),
  };
}

/** A node, and the command that reaches it over a way on which the first answer to every write is lost. */
async function servedAndCut() {
  const served = await servedLedger();
  const node = await served.startNode('primary');
  const proxy = await cuttingProxy(node.url);
  const plain = cliBench();
  return { proxy, cut: over(plain, proxy.url), direct: over(plain, node.url) };
}

const typesOf = async (bench: CliBench): Promise<readonly string[]> =>
  (await bench.lines(['event', 'list'])).map((event) => (event as { readonly type: string }).type);

describe('the command over HTTP, when the first answer to every write is lost', () => {
  test('a task goes from its creation to its completion, and everything happens once', async () => {
    const { cut, direct, proxy } = await servedAndCut();
    expect((await cut.json(['init'])).value).toMatchObject({ created: false });
    await done(cut, 'task create', '--id', 't-1', '--title', 'work');
    const run = await done(cut, 'run claim', '--holder', 'worker');
    await done(cut, 'run heartbeat', ...underFence(run));
    await done(cut, 'run push', ...underFence(run), '--state', 'working');
    const asked = await done(cut, 'run ask', ...underFence(run), '--question', 'Which?', '--option', 'A');
    await done(cut, 'question answer', asked.question_id, '--option', 'A');
    const offered = await done(cut, 'question deliveries', ...underFence(run));
    expect(offered.deliveries).toMatchObject([{ text: 'Human selected: A' }]);
    await done(cut, 'question ack', asked.question_id, ...underFence(run));
    const step = await done(cut, 'run submit', ...held(run), '--key', 't-1:0', '--value', 'ok');
    expect(step).toMatchObject({ outcome: 'applied', value: 'ok' });
    const parked = await done(cut, 'run park', ...underFence(run), '--question', 'Sure?', '--option', 'Yes');
    expect(parked.status).toBe('blocked');
    await done(cut, 'question answer', parked.question_id, '--option', 'Yes');
    const second = await done(cut, 'run claim', '--holder', 'worker');
    expect(second.resume_notice).toBe('Human selected: Yes');
    const end = await done(cut, 'run complete', ...held(second), '--result', 'done');
    expect(end).toMatchObject({ replayed: false, run_id: second.run_id });

    expect(proxy.lost.length).toBeGreaterThanOrEqual(12);
    expect(await typesOf(direct)).toEqual([
      ...['task.created', 'run.started', 'run.pushed', 'question.raised', 'question.answered'],
      ...['verdict.delivered', 'task.commented', 'run.submitted', 'question.raised', 'run.parked'],
      ...['question.answered', 'run.started', 'verdict.delivered', 'task.completed'],
    ]);
    expect(await runsOf(direct, 't-1')).toMatchObject([{ outcome: 'parked' }, { outcome: 'completed' }]);
    expect((await direct.json(['verify', '--rebuild'])).value).toMatchObject({ ok: true, problems: [] });
  });

  test('operators, events, rows and jobs do everything once', async () => {
    const { cut, direct } = await servedAndCut();
    await done(cut, 'task create', '--id', 't-1', '--title', 'work');
    await done(cut, 'task comment', 't-1', '--author', 'ann', '--body', 'hm');
    await done(cut, 'task block', 't-1', '--reason', 'no key');
    await done(cut, 'task unblock', 't-1');
    await done(cut, 'task assign', 't-1', '--to', 'bob');
    const run = await done(cut, 'run claim', '--holder', 'bob', '--task', 't-1');
    await done(cut, 'run reclaim', '--task', 't-1', '--run', run.run_id, '--reason', 'stuck');
    await done(cut, 'task cancel', 't-1', '--reason', 'obsolete');
    const before = (await typesOf(direct)).length;
    const appended = await cut.json(['event', 'append'], {
      stdin: [
        '{"type":"run.started","run_id":"d-1","task_id":"r-1"}',
        '{"type":"run.started","run_id":"d-2","task_id":"r-1"}',
        '{"type":"run.settled","run_id":"d-1","state":"succeeded"}',
      ].join('\n'),
    });
    expect(appended).toMatchObject({ code: 0, value: { appended: 3, duplicates: 0 } });
    const put = await cut.json(['task', 'put'], {
      stdin: '{"task_id":"r-1","status":"completed","big":12345678901234567890}',
    });
    expect(put.code).toBe(0);
    expect((await cut.json(['sweep', '--live', ''])).value).toMatchObject({ trigger: 'sweep_refresh' });
    expect((await cut.json(['backfill'])).value).toMatchObject({ trigger: 'boot_backfill', failed: [] });

    const { stdout } = await direct.run(['--json', 'task', 'get', 'r-1']);
    expect(stdout).toContain('"big":12345678901234567890');
    expect(JSON.parse(stdout)).toMatchObject({ delegated_runs_unreconciled: ['d-2'] });
    expect((await direct.json(['audit', 'r-1'])).value).toMatchObject({
      tasks: [{ task_id: 'r-1', current: true, audit: { open_run_ids: ['d-2'] } }],
    });
    const types = (await typesOf(direct)).slice(before);
    expect(types.filter((type) => type.startsWith('run.'))).toHaveLength(3);
    expect(types.filter((type) => type.startsWith('custody.'))).toHaveLength(1);
    expect(await refused(direct, 'task', 'cancel', 't-1')).toMatchObject({ reason: 'task_ended' });
  });
});

test('an export from one served ledger is imported into another one, with the same hashes, once', async () => {
  const { cut, direct } = await servedAndCut();
  const { direct: other } = await servedAndCut();
  await done(other, 'task create', '--id', 't-1', '--title', 'work');
  await done(other, 'run claim', '--holder', 'worker');
  const { stdout } = await other.run(['event', 'export']);
  writeFileSync(cut.path('ledger.jsonl'), stdout);

  expect((await cut.json(['event', 'import', cut.path('ledger.jsonl')])).code).toBe(0);
  expect((await cut.json(['event', 'import', cut.path('ledger.jsonl')])).value).toMatchObject({
    appended: 0,
  });

  expect((await direct.run(['event', 'export'])).stdout).toBe(stdout);
});

test('a token is taken from CUSTODY_TOKEN; without one nothing is answered', async () => {
  const served = await servedLedger();
  const file = served.path('tokens');
  writeFileSync(file, 'read-me-please-0123456789 read\nwrite-me-please-0123456789 write\n', { mode: 0o600 });
  const node = await startListening(served.dir, [
    ...['-s', served.store, 'serve', '--listen', '127.0.0.1:0', '--node', 'primary'],
    ...['--state', served.folder, '--token-file', file],
  ]);
  const bench = over(cliBench(), node.url);
  const as = (token: string) => ({ env: { CUSTODY_TOKEN: token } });

  expect((await bench.json(['stats'])).value).toMatchObject({ error: { code: 'unauthorized' } });
  expect((await bench.json(['stats'], as('read-me-please-0123456789'))).code).toBe(0);
  expect((await bench.json(['audit', '--all'], as('read-me-please-0123456789'))).code).toBe(0);
  const create = ['task', 'create', '--id', 't-1', '--title', 'work'];
  expect((await bench.json(create, as('read-me-please-0123456789'))).value).toMatchObject({
    error: { code: 'forbidden' },
  });
  expect((await bench.json(create, as('write-me-please-0123456789'))).code).toBe(0);
});

test('a replica answers every write with 503 and read_only, and reads', async () => {
  const served = await servedLedger();
  const primary = await served.startNode('primary');
  const bench = cliBench();
  await done(over(bench, primary.url), 'task create', '--id', 't-1', '--title', 'work');
  served.say('replica.role', 'replica');
  const replica = await served.startNode('replica');
  const { text } = await callApi(replica.url, { route: 'GET /openapi.json' });
  const { paths } = JSON.parse(text) as { readonly paths: Readonly<Record<string, object>> };
  const reading = ['/v1/ports/rows/load', '/v1/ports/custody/tasks', '/v1/ports/scan'];
  const writes = Object.entries(paths).flatMap(([path, methods]) =>
    reading.includes(path)
      ? []
      : Object.keys(methods)
          .filter((method) => method !== 'get')
          .map((method) => `${method.toUpperCase()} ${path.replace('/v1', '')}`),
  );
  expect(writes.length).toBeGreaterThan(30);

  for (const route of writes) {
    const answer = await callApi(replica.url, { route, body: {} });
    expect([route, answer.status]).toEqual([route, 503]);
    expect(JSON.parse(answer.text)).toMatchObject({ outcome: 'refused', reason: 'read_only' });
  }
  const atReplica = over(bench, replica.url);
  expect((await atReplica.json(['task', 'get', 't-1'])).value).toMatchObject({ status: 'ready' });
  expect((await atReplica.json(['audit', 't-1'])).code).toBe(0);
  expect(await refused(atReplica, 'task', 'cancel', 't-1')).toMatchObject({ reason: 'read_only' });
});

test('X5 after a failover the old node says so to its clients, and the ledger is theirs at the new one', async () => {
  const served = await servedLedger();
  const primary = await served.startNode('primary');
  const ledger = await openLedger(primary.url);
  await ledger.tasks.create({ taskId: 't-1', title: 'work' });
  const run = await ledger.once('request-1').runs.claim({ holder: 'worker' });
  if (run.outcome !== 'claimed') throw new Error(run.reason);
  const onHost = await openLedger(served.store);
  await onHost.raiseEpoch('the host is to be replaced');
  await onHost.close();

  const late = await ledger.runs.heartbeat({ runId: run.run_id, fence: run.fence });
  expect(late).toMatchObject({ outcome: 'refused', reason: 'stale_epoch' });
  const append = () => ledger.append([{ type: 'x.a' }]);
  await expect(append()).rejects.toMatchObject({ code: 'stale_epoch', offered: 1, current: 2 });
  await expect(append()).rejects.toMatchObject({ code: 'read_only' });

  served.say('second.role', 'primary');
  const second = await openLedger((await served.startNode('second')).url);
  const again = await second.once('request-1').runs.claim({ holder: 'worker' });
  expect(again).toMatchObject({ outcome: 'claimed', run_id: run.run_id });
  expect(again.outcome === 'claimed' && again.fence).toBeGreaterThan(run.fence);
});
