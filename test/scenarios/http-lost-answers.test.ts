import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Ledger } from '@custody/ledger';
import { openLedger } from '@custody/ledger';
import { createReconciler } from '@custody/reconciler';
import { describe, expect, onTestFinished, test } from 'vitest';
import { SERVED } from '../contract/served-store.ts';
import { loadOrFail, updateOf } from '../contract/task-rows.contract.ts';
import { collect } from '../support/collect.ts';
import { cuttingProxy } from '../support/cutting-proxy.ts';
import { heldBy, openDesk } from '../support/managed.ts';
import { rowOf } from '../support/row.ts';
import { NO_RUN, VERB_CASES } from '../support/verb-cases.ts';

/** A desk at a served ledger, and a second way to it on which the first answer to every write is lost. */
async function openCut() {
  const desk = await openDesk(SERVED);
  const { ledger, clock, processes } = desk;
  await ledger.tasks.create({ taskId: 't-1', title: 'work', assignee: 'worker' });
  const proxy = await cuttingProxy(ledger.url);
  const cut = await openLedger(proxy.url, { clock, processes });
  return { desk, ledger, cut, proxy };
}

const seqOf = async (ledger: Ledger) => (await ledger.head()).seq;

describe('an answer that is lost after the server committed', () => {
  test.each(VERB_CASES)('$verb: it is carried out once, and its caller hears so', async (verb) => {
    const { desk, ledger, cut, proxy } = await openCut();
    const run = (await verb.prepare(desk)) ?? NO_RUN;
    const before = await seqOf(ledger);

    const answer = await verb.ask(cut, run);

    expect(answer.outcome).not.toMatch(/refused|none/);
    expect(proxy.lost).toHaveLength(1);
    expect((await seqOf(ledger)) - before).toBe(verb.events);
    expect(await ledger.verify({ rebuild: true })).toMatchObject({ ok: true });
  });

  test('a wait for work ends with one run', async () => {
    const { ledger, cut, proxy } = await openCut();

    const claimed = await cut.waitForWork({ holder: 'worker' });

    expect(claimed).toMatchObject({ outcome: 'claimed', task_id: 't-1' });
    expect(proxy.lost).toHaveLength(1);
    expect(await ledger.runs.list('t-1')).toMatchObject([{ run_id: claimed.run_id, outcome: null }]);
  });

  test('a sign of life, and the question for a fence, may be asked twice', async () => {
    const { desk, ledger, cut, proxy } = await openCut();
    const run = await desk.claim('t-1');
    const before = await seqOf(ledger);

    const beat = await cut.runs.heartbeat({ ...heldBy(run), ttlMs: 60_000 });
    const told = await cut.runs.refresh({ runId: run.run_id, holder: 'worker' });

    expect(beat).toMatchObject({ outcome: 'extended' });
    expect(told).toMatchObject({ outcome: 'refreshed', fence: run.fence });
    expect(proxy.lost).toHaveLength(2);
    expect(await seqOf(ledger)).toBe(before);
  });

  test('events without ids are appended once, and counted as new', async () => {
    const { ledger, cut, proxy } = await openCut();
    const before = await seqOf(ledger);

    const result = await cut.append([{ type: 'x.a' }, { type: 'x.a' }]);

    expect(result).toMatchObject({ appended: 2, duplicates: 0, first_seq: before + 1, last_seq: before + 2 });
    expect(proxy.lost).toHaveLength(1);
    expect(await collect(ledger.read({ type: 'x.a' }))).toHaveLength(2);
  });

  test('an event whose writer named it is appended once', async () => {
    const { ledger, cut } = await openCut();

    const result = await cut.append([{ id: 'mine', type: 'x.a' }]);

    expect(result.events).toMatchObject([{ id: 'mine' }]);
    expect(await collect(ledger.read({ type: 'x.a' }))).toHaveLength(1);
  });

  test('accepted events keep their place, and come once', async () => {
    const { ledger, cut } = await openCut();
    const copy = await openLedger('memory:');
    onTestFinished(() => copy.close());
    const before = await collect(ledger.read());
    await copy.appendAccepted({ events: before.map(({ event }) => event), exact: before });
    await copy.append([{ type: 'x.a' }]);
    const [added] = await collect(copy.read({ type: 'x.a' }));
    if (added === undefined) throw new Error('no event');

    await cut.appendAccepted({ events: [added.event], exact: [added] });

    expect(await ledger.head()).toMatchObject({ seq: added.event.seq, hash: added.event.hash });
  });

  test('rows are put once, and a guarded write writes one evidence', async () => {
    const { ledger, cut } = await openCut();
    expect(await cut.rows.put([rowOf('r-1', { status: 'failed' })])).toMatchObject([{ task_id: 'r-1' }]);
    const loaded = await loadOrFail(ledger.rows, 'r-1');

    const results = await cut.rows.update([updateOf(loaded)]);

    // The row has changed since: by this very write.
    expect(results).toEqual([{ outcome: 'changed_meanwhile' }]);
    expect(await collect(ledger.read({ type: 'custody.reconciled' }))).toHaveLength(1);
  });

  test('a reconciler heals every row once', async () => {
    const { ledger, cut, proxy } = await openCut();
    await ledger.append([
      { type: 'run.started', run_id: 'd-1', task_id: 'r-1' },
      { type: 'run.settled', run_id: 'd-1', state: 'succeeded' },
      { type: 'run.started', run_id: 'd-2', task_id: 'r-1' },
    ]);
    await ledger.rows.put([rowOf('r-1', { status: 'completed' })]);

    await createReconciler(cut).backfill();

    const { row } = await loadOrFail(ledger.rows, 'r-1');
    expect(row.value).toMatchObject({ delegated_runs_unreconciled: ['d-2'] });
    expect(proxy.lost.length).toBeGreaterThan(0);
    const evidence = await collect(ledger.read({ taskId: 'r-1' }));
    expect(evidence.filter(({ event }) => event.type.startsWith('custody.'))).toHaveLength(1);
    expect(await createReconciler(ledger).backfill()).toMatchObject({ refreshed: [] });
  });

  test('a lease among processes, a document and a record are what the last answer says', async () => {
    const { ledger, cut } = await openCut();

    expect(await cut.leaders.tryLead('x', 'me', 60_000)).toMatchObject({ outcome: 'leading' });
    expect(await ledger.leaders.tryLead('x', 'you', 60_000)).toMatchObject({ outcome: 'held', holder: 'me' });
    await cut.leaders.resign('x', 'me');
    expect(await ledger.leaders.tryLead('x', 'you', 60_000)).toMatchObject({ outcome: 'leading' });
    await cut.state.save('mine', { a: 1 });
    expect(await ledger.state.load('mine')).toEqual({ a: 1 });
    await cut.records.put('r-1', 'héllo ✓');
    expect(await ledger.records.get('r-1')).toBe('héllo ✓');
  });

  test('a read that is cut goes on behind the last event that came', async () => {
    const { ledger } = await openCut();
    const note = 'n'.repeat(1000);
    await ledger.append(Array.from({ length: 600 }, () => ({ type: 'x.a', note })));
    const proxy = await cuttingProxy(ledger.url, { cutReadsAfter: 100_000 });
    const cut = await openLedger(proxy.url);

    const seqs = (await collect(cut.read({ type: 'x.a', limit: 500 }))).map(({ event }) => event.seq);

    expect(seqs).toEqual(Array.from({ length: 500 }, (_, index) => index + 2));
  });
});

/** A server that gives these answers, one after the other, and then the last one for ever. */
async function answering(...answers: readonly { readonly status: number; readonly body: string }[]) {
  const asked: string[] = [];
  const server = createServer((request, response) => {
    const answer = answers[Math.min(asked.length, answers.length - 1)];
    asked.push(`${request.method} ${request.url}`);
    response.writeHead(answer?.status ?? 500).end(answer?.body);
  });
  await new Promise<void>((resolve) => {
    server.listen(0, '127.0.0.1', resolve);
  });
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, asked };
}

const BUSY = {
  status: 503,
  body: '{"error":{"code":"busy","message":"the ledger is busy","hint":"Try again."}}',
};
const STORE = {
  status: 200,
  body: '{"kind":"memory","schema_version":1,"manages_tasks":true,"has_replicas":false,"now_ms":0}',
};

describe('a way that is closed', () => {
  test('is tried again while somebody behind it is busy or gone', async () => {
    const server = await answering({ status: 502, body: '' }, BUSY, { status: 503, body: 'full' }, STORE);

    const ledger = await openLedger(server.url);

    expect(ledger).toMatchObject({ kind: 'memory', url: server.url, created: false });
    expect(server.asked).toEqual(Array.from({ length: 4 }, () => 'GET /v1/store'));
  });

  test('is given up after a while, with what was last said', async () => {
    const busy = await answering(BUSY);
    await expect(openLedger(busy.url, { patienceMs: 300 })).rejects.toMatchObject({ code: 'busy' });
    const gone = await answering({ status: 502, body: '' });
    await expect(openLedger(gone.url, { patienceMs: 300 })).rejects.toMatchObject({
      code: 'store_unreachable',
      facts: { url: gone.url },
    });
    await expect(openLedger('http://127.0.0.1:1', { patienceMs: 300 })).rejects.toMatchObject({
      code: 'store_unreachable',
    });
    expect(busy.asked.length).toBeGreaterThan(1);
  });

  test.each([
    [
      503,
      'read_only',
      { outcome: 'refused', reason: 'read_only', message: 'a replica', hint: 'Ask the primary.' },
    ],
    [
      503,
      'stale_epoch',
      { outcome: 'refused', reason: 'stale_epoch', message: 'm', hint: 'h', offered: 1, current: 2 },
    ],
    [
      401,
      'unauthorized',
      { error: { code: 'unauthorized', message: 'a token is needed', hint: 'Send one.' } },
    ],
    [500, 'store_unreachable', 'no JSON'],
    [200, 'store_unreachable', '<html>'],
  ])('an answer %i that stays is not asked for again: %s', async (status, code, body) => {
    const server = await answering({
      status,
      body: typeof body === 'string' ? body : JSON.stringify(body),
    });

    await expect(openLedger(server.url)).rejects.toMatchObject({ code });

    expect(server.asked).toHaveLength(1);
  });
});

test('a token goes into a header, and a URL with one is refused without printing it', async () => {
  const tokens: (string | undefined)[] = [];
  const server = createServer((request, response) => {
    tokens.push(request.headers.authorization);
    response.end(STORE.body);
  });
  await new Promise<void>((resolve) => {
    server.listen(0, '127.0.0.1', resolve);
  });
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  await openLedger(`http://127.0.0.1:${(server.address() as AddressInfo).port}`, { token: 'hush' });

  expect(tokens).toEqual(['Bearer hush']);
  for (const url of ['http://me:hush@localhost:1', 'http://localhost:1/?token=hush', 'http://hush/x']) {
    const error: unknown = await openLedger(url).catch((thrown: unknown) => thrown);
    expect(error).toMatchObject({ code: 'invalid_url' });
  }
  const error: unknown = await openLedger('http://me:hush@localhost:1').catch((thrown: unknown) => thrown);
  expect(JSON.stringify([String(error), error])).not.toContain('hush');
});

test('a handle that is open for reading only writes nothing', async () => {
  const desk = await openDesk(SERVED);
  const ledger = await openLedger(desk.ledger.url, { readOnly: true });

  await expect(ledger.append([{ type: 'x.a' }])).rejects.toMatchObject({ code: 'read_only' });
  await expect(ledger.tasks.create({ title: 'x' })).rejects.toMatchObject({ code: 'read_only' });
  await expect(ledger.state.save('mine', {})).rejects.toMatchObject({ code: 'read_only' });

  expect(await ledger.head()).toMatchObject({ seq: 0 });
});

test('what can not be done over HTTP is refused with the way out', async () => {
  const { ledger } = await openDesk(SERVED);

  for (const asked of [
    () => ledger.raiseEpoch('mine'),
    () => ledger.takeCheckpoint({ privateKey: '' }),
    () => ledger.verify({ proof: {} as never }),
  ])
    await expect(asked()).rejects.toMatchObject({
      code: 'not_supported',
      hint: expect.any(String) as string,
    });
});
