import type { Ledger } from '@custody/ledger';
import { openLedger } from '@custody/ledger';
import { describe, expect, test, vi } from 'vitest';
import type { ApiCall } from '../support/api-calls.ts';
import { callApi } from '../support/api-calls.ts';
import { openApi } from '../support/open-api.ts';
import { serveLedger } from '../support/served-ledger.ts';

describe('what is wrong with a request', () => {
  test.each<[string, ApiCall, number, object]>([
    [
      'a field that is not known',
      { route: 'POST /tasks', body: { title: 'x', colour: 1 } },
      400,
      { field: 'colour' },
    ],
    [
      'a field deep inside',
      { route: 'POST /tasks/{task_id}/decompose', body: { children: [{ title: 1 }] } },
      400,
      { field: 'children.0.title' },
    ],
    ['a missing field', { route: 'POST /claims', body: {} }, 400, { field: 'holder' }],
    [
      'an id that is none',
      { route: 'GET /tasks/{task_id}', params: { task_id: '..%2fx' } },
      400,
      { field: 'task_id' },
    ],
    ['a query that is not known', { route: 'GET /events', query: { afer: '1' } }, 400, { field: 'afer' }],
    ['a number that is none', { route: 'GET /events', query: { after: '-1' } }, 400, { field: 'after' }],
    ['a wait that is none', { route: 'GET /events', query: { wait: 'long' } }, 400, { field: 'wait' }],
    [
      'an event of an unknown type',
      { route: 'POST /events', body: { events: [{ type: 'x.a' }, { type: 'nope' }] } },
      400,
      { code: 'invalid_event', index: 1, field: 'type' },
    ],
    [
      'the same in JSON Lines',
      { route: 'POST /events', lines: '{"type":"x.a"}\n\n{"type":"nope"}\n' },
      400,
      { code: 'invalid_event', line: 3, field: 'type' },
    ],
    [
      'a line that is no JSON',
      { route: 'POST /events', lines: '{"type":"x.a"}\n{' },
      400,
      { code: 'invalid_json', line: 2 },
    ],
    [
      'a row without an id',
      { route: 'PUT /tasks', lines: '{"task_id":"a"}\n{"status":"failed"}\n' },
      400,
      { code: 'invalid_row', line: 2 },
    ],
    [
      'a document where lines are taken',
      { route: 'PUT /tasks', body: { task_id: 'a' } },
      400,
      { code: 'invalid_option' },
    ],
    [
      'an event that is too large',
      { route: 'POST /events', body: { events: [{ type: 'x.a', text: 'a'.repeat(1_100_000) }] } },
      413,
      { code: 'event_too_large' },
    ],
    [
      'a request id that is none',
      { route: 'POST /tasks', body: { title: 'x' }, headers: { 'idempotency-key': 'a b' } },
      400,
      { field: 'request_id' },
    ],
    ['a path that there is not', { route: 'GET /nothing' }, 404, { code: 'not_found' }],
  ])('%s is told with its place, and nothing is written', async (_, call, status, error) => {
    const { ledger, url } = await openApi();

    const answer = await callApi(url, call);

    expect(answer.status).toBe(status);
    expect(JSON.parse(answer.text)).toMatchObject({
      error: { hint: expect.any(String) as string, ...error },
    });
    expect((await ledger.head()).seq).toBe(0);
    expect(await ledger.rows.count()).toBe(0);
  });

  test('a body that is no JSON, and one that is no UTF-8', async () => {
    const { url } = await openApi();
    for (const [body, code] of [
      ['{', 'invalid_json'],
      [new Uint8Array([0x22, 0xff, 0x22]), 'invalid_option'],
    ] as const) {
      const response = await fetch(`${url}/v1/tasks`, { method: 'POST', body });
      expect(response.status).toBe(400);
      expect(await response.json()).toMatchObject({ error: { code } });
    }
  });
});

test('a record that is larger than the server takes is refused with the limit', async () => {
  const ledger = await openLedger('memory:');
  const server = await serveLedger(ledger, 100);
  const route = 'PUT /ports/records/{id}';

  const answer = await callApi(server.url, { route, body: { text: 'a'.repeat(101) } });

  expect(answer.status).toBe(413);
  expect(JSON.parse(answer.text)).toMatchObject({ error: { code: 'body_too_large', limit: 100 } });
  expect((await callApi(server.url, { route, body: { text: 'a' } })).status).toBe(200);
  await server.stop();
  await ledger.close();
});

/** The ledger, and how each wait for work on it ended. */
function watchWaits(ledger: Ledger) {
  const begun: Promise<string>[] = [];
  const watched: Ledger = {
    ...ledger,
    waitUntilClaimable: (wait) => {
      const waiting = ledger.waitUntilClaimable(wait);
      begun.push(
        waiting.then(
          () => 'claimable',
          () => 'ended',
        ),
      );
      return waiting;
    },
  };
  return { watched, begun };
}

describe('answers that take their time', () => {
  test('end on the server, too, when the client leaves', async () => {
    const ledger = await openLedger('memory:');
    await ledger.append([{ type: 'x.a' }]);
    const { watched, begun } = watchWaits(ledger);
    const server = await serveLedger(watched);
    const leave = new AbortController();
    const left = fetch(`${server.url}/v1/work?holder=a&wait=60s`, { signal: leave.signal });
    const followed = await fetch(`${server.url}/v1/events?after=0&follow=true`, { signal: leave.signal });
    await followed.body?.getReader().read();
    await vi.waitUntil(() => begun.length === 1);

    leave.abort();

    await expect(left).rejects.toThrow();
    expect(await Promise.all(begun)).toEqual(['ended']);
    // Nothing is in use any more, so nobody is waited for.
    await server.stop();
    await server.unused();
    await ledger.close();
  });

  test('a claim waits for a task, and one of two that wait gets it', async () => {
    const { ledger, url } = await openApi();
    const claim = (holder: string) =>
      callApi(url, { route: 'POST /claims', query: { wait: '400ms' }, body: { holder } });
    const waiting = [claim('a'), claim('b')];
    await ledger.tasks.create({ taskId: 't-1', title: 'work' });

    const answers = await Promise.all(waiting);

    expect(answers.map(({ status }) => status).sort((a, b) => a - b)).toEqual([201, 409]);
    expect(await ledger.runs.list('t-1')).toHaveLength(1);
  });

  test('events are waited for, and followed until the client leaves', async () => {
    const { ledger, url } = await openApi();
    const waiting = callApi(url, { route: 'GET /events', query: { after: '0', wait: '30s', type: 'x.b' } });
    const leave = new AbortController();
    const followed = await fetch(`${url}/v1/events?after=0&follow=true`, { signal: leave.signal });
    await ledger.append([{ type: 'x.a' }]);
    await ledger.append([{ type: 'x.b' }]);

    expect(JSON.parse((await waiting).text)).toMatchObject({ seq: 2, type: 'x.b' });
    let text = '';
    for await (const piece of followed.body ?? []) {
      text += new TextDecoder().decode(piece);
      if (text.includes('"seq":2')) break;
    }
    expect(text.trim().split('\n')).toHaveLength(2);
    leave.abort();
  });

  test('a server that stops keeps nobody waiting', async () => {
    const ledger = await openLedger('memory:');
    const { watched, begun } = watchWaits(ledger);
    const server = await serveLedger(watched);
    const waiting = callApi(server.url, { route: 'GET /work', query: { holder: 'a', wait: '60s' } });
    const followed = await fetch(`${server.url}/v1/events?after=0&follow=true`);
    await vi.waitUntil(() => begun.length === 1);
    const began = performance.now();

    await server.stop();

    expect(performance.now() - began).toBeLessThan(10_000);
    const told = await waiting;
    expect(told.status).toBe(503);
    expect(JSON.parse(told.text)).toMatchObject({ error: { code: 'busy' } });
    await followed.text();
    await ledger.close();
  });
});
