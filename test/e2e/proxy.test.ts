import { once } from 'node:events';
import { mkdirSync, rmSync, writeFileSync } from 'node:fs';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { request } from 'node:http';
import { describe, expect, test } from 'vitest';
import type { CliBench } from '../support/cli.ts';
import { cliBench } from '../support/cli.ts';
import type { RawAnswer } from '../support/raw-http.ts';
import { listenHere, readAll, sendRaw } from '../support/raw-http.ts';
import type { ListeningProcess } from '../support/served-pair.ts';
import { servedLedger, startListening } from '../support/served-pair.ts';

const EMPTY_502 = { status: 502, body: '' };

interface Bench extends CliBench {
  readonly proxy: ListeningProcess;
  /** Writes the `upstream` file. */
  point(to: string | number): void;
}

/** A proxy in a process of its own, and an empty state folder. */
async function proxyBench(): Promise<Bench> {
  const bench = cliBench();
  mkdirSync(bench.path('state'));
  const proxy = await startListening(bench.dir, ['proxy', '--listen', '127.0.0.1:0', '--state', 'state']);
  return { ...bench, proxy, point: (to) => writeFileSync(bench.path('state/upstream'), `${to}\n`) };
}

/** The names of headers that are not the connection's. */
function namesOf({ headers }: RawAnswer): readonly string[] {
  return headers.filter(
    (name, index) => index % 2 === 0 && !/^(?:connection|keep-alive|transfer-encoding)$/i.test(name),
  );
}

function echo(request_: IncomingMessage, response: ServerResponse): void {
  response.writeHead(200, { 'x-method': request_.method, 'x-path': request_.url });
  request_.pipe(response);
}

describe('the proxy', () => {
  test('reads where to go on every request', async () => {
    const bench = await proxyBench();
    const first = await listenHere((_, response) => response.end('first'));
    const second = await listenHere((_, response) => response.end('second'));
    const answers: string[] = [];
    for (const to of [first.port, second.port, `127.0.0.1:${first.port}`, `localhost:${second.port}`]) {
      bench.point(to);
      answers.push((await sendRaw(bench.proxy.url)).body);
    }

    expect(answers).toEqual(['first', 'second', 'first', 'second']);
  });

  test('answers 502 with an empty body while nobody can be reached, and passes again at once', async () => {
    const bench = await proxyBench();
    const { port } = await listenHere(echo);
    const gone = await listenHere(echo);
    gone.server.close();
    await once(gone.server, 'close');
    const file = bench.path('state/upstream');

    expect(await sendRaw(bench.proxy.url)).toMatchObject(EMPTY_502);
    for (const wrong of [
      '',
      'nonsense',
      '0',
      '65536',
      'http://127.0.0.1:1',
      '127.0.0.1:1 2',
      gone.port,
      bench.proxy.port,
    ]) {
      bench.point(wrong);
      expect(await sendRaw(bench.proxy.url), String(wrong)).toMatchObject(EMPTY_502);
      expect(
        await sendRaw(bench.proxy.url, { method: 'PUT', body: 'x'.repeat(1_000_000) }),
        String(wrong),
      ).toMatchObject(EMPTY_502);
    }
    rmSync(file);
    mkdirSync(file);
    expect(await sendRaw(bench.proxy.url)).toMatchObject(EMPTY_502);
    rmSync(file, { recursive: true });
    bench.point(port);
    expect(await sendRaw(bench.proxy.url, { method: 'POST', body: 'yes' })).toMatchObject({
      status: 200,
      body: 'yes',
    });
    expect(bench.proxy.log()).toContain('the proxy itself');
    await expect.poll(() => bench.proxy.log()).toContain('requests pass again');
  });

  test('passes headers and status as they came, and leaves out those of the connection', async () => {
    const bench = await proxyBench();
    let seen: readonly string[] = [];
    const { port } = await listenHere((incoming, response) => {
      seen = incoming.rawHeaders;
      response.sendDate = false;
      response.writeHead(418, 'Short and Stout', [
        ...['Set-Cookie', 'a=1', 'X-CaSe', 'Kept', 'Set-Cookie', 'b=2'],
        ...[
          'Connection',
          'close, X-Hop',
          'X-Hop',
          'dropped',
          'Keep-Alive',
          'timeout=9',
          'Content-Length',
          '3',
        ],
      ]);
      response.end('tea');
    });
    bench.point(port);

    const answer = await sendRaw(`${bench.proxy.url}/a%2Fb//c?q=%20`, {
      method: 'PUT',
      headers: [
        ...['X-Twice', '1', 'x-twice', '2', 'Authorization', 'Bearer t', 'Accept-Encoding', 'br'],
        ...['Connection', 'X-Mine', 'X-Mine', 'dropped', 'TE', 'trailers', 'Content-Length', '4'],
      ],
      body: 'body',
    });

    expect(answer).toMatchObject({ status: 418, reason: 'Short and Stout', body: 'tea' });
    // What follows is the proxy's own connection with the client.
    expect(answer.headers.slice(0, answer.headers.indexOf('Connection'))).toEqual([
      ...['Set-Cookie', 'a=1', 'X-CaSe', 'Kept', 'Set-Cookie', 'b=2', 'Content-Length', '3'],
    ]);
    expect(seen).toEqual([
      ...['Host', new URL(bench.proxy.url).host, 'X-Twice', '1', 'x-twice', '2', 'Authorization', 'Bearer t'],
      ...['Accept-Encoding', 'br', 'Content-Length', '4', 'Connection', 'keep-alive'],
    ]);
  });

  test('passes bodies of any length and framing, of requests that have one and of those that usually have none', async () => {
    const bench = await proxyBench();
    bench.point((await listenHere(echo)).port);
    const bytes = Buffer.from('héllo ✓ '.repeat(100_000));

    for (const method of ['PUT', 'POST', 'GET', 'DELETE']) {
      for (const framing of [
        ['Content-Length', String(bytes.length)],
        ['Transfer-Encoding', 'chunked'],
      ]) {
        const answer = await sendRaw(`${bench.proxy.url}/x`, { method, headers: framing, body: bytes });
        expect({ method, framing, same: answer.body === bytes.toString('utf8') }).toEqual({
          method,
          framing,
          same: true,
        });
        expect(answer.headers).toEqual(expect.arrayContaining(['x-method', method, 'x-path', '/x']));
      }
    }
    expect(await sendRaw(bench.proxy.url, { method: 'HEAD' })).toMatchObject({ status: 200, body: '' });
  });

  test('streams both ways: a piece arrives before the next one is sent', async () => {
    const bench = await proxyBench();
    bench.point((await listenHere(echo)).port);
    const sending = request(bench.proxy.url, { method: 'POST', agent: false });
    sending.flushHeaders();
    sending.write('one');
    const [answer] = (await once(sending, 'response')) as [IncomingMessage];
    const pieces: string[] = [];
    answer.setEncoding('utf8');

    for (const next of ['two', 'three', null]) {
      const [piece] = (await once(answer, 'data')) as [string];
      pieces.push(piece);
      if (next === null) sending.end();
      else sending.write(next);
    }
    await once(answer, 'end');

    expect(pieces).toEqual(['one', 'two', 'three']);
  });

  test("tells a node that its client is gone, and a client that its node's answer broke off", async () => {
    const bench = await proxyBench();
    const { port } = await listenHere((incoming, response) => {
      if (incoming.url === '/breaks') {
        response.writeHead(200, { 'content-length': 100 });
        response.write('half', () => response.destroy());
        return;
      }
      incoming.once('data', () => sending.destroy());
      incoming.once('close', () => left(incoming.complete));
    });
    bench.point(port);
    let left: (isComplete: boolean) => void = () => undefined;
    const leaving = new Promise<boolean>((resolve) => {
      left = resolve;
    });
    const sending = request(`${bench.proxy.url}/stays`, { method: 'PUT', agent: false });
    sending.on('error', () => undefined);
    sending.write('half of it');

    expect(await leaving).toBe(false);
    await expect(sendRaw(`${bench.proxy.url}/breaks`)).rejects.toThrow('aborted');
  });

  test('passes an answer that comes before the request is at its end', async () => {
    const bench = await proxyBench();
    const { port } = await listenHere((_, response) => {
      response.writeHead(413, { connection: 'close' }).end('too large');
    });
    bench.point(port);
    const sending = request(bench.proxy.url, { method: 'PUT', agent: false });
    sending.on('error', () => undefined);
    sending.write('x'.repeat(100_000));

    const [answer] = (await once(sending, 'response')) as [IncomingMessage];

    expect(answer.statusCode).toBe(413);
    expect(await readAll(answer)).toBe('too large');
    sending.destroy();
  });

  test('on SIGTERM it finishes what it has begun, takes nothing new, and exits with 0', async () => {
    const bench = await proxyBench();
    const { server, port } = await listenHere((_, response) => response.end('at once'));
    server.removeAllListeners('request');
    bench.point(port);
    const sending = sendRaw(bench.proxy.url);
    const [, response] = (await once(server, 'request')) as [IncomingMessage, ServerResponse];
    server.on('request', (_, later: ServerResponse) => later.end('later'));
    response.write('begun, ');

    const stopping = bench.proxy.stop();
    const another = () =>
      sendRaw(bench.proxy.url).then(
        ({ body }) => body,
        () => 'refused',
      );
    await expect.poll(another).toBe('refused');
    response.end('ended');

    expect(await sending).toMatchObject({ status: 200, body: 'begun, ended' });
    expect(await stopping).toBe(0);
  });

  test('passes the answers of a real node as that node gives them', async () => {
    const served = await servedLedger();
    const node = await served.startNode('primary');
    served.say('upstream', String(node.port));
    const proxy = await served.startProxy();
    const asked: readonly Parameters<typeof sendRaw>[1][] = [
      { method: 'PUT', body: 'héllo ✓' },
      {},
      { method: 'HEAD' },
      { method: 'DELETE' },
      { method: 'PUT', body: Buffer.from([0xff, 0xfe]) },
      { method: 'PUT', body: 'x'.repeat(2 * 1024 * 1024) },
    ];

    for (const one of asked) {
      const [direct, through] = [
        await sendRaw(`${node.url}/records/r-1`, one),
        await sendRaw(`${proxy.url}/records/r-1`, one),
      ];
      expect({ ...through, headers: [] }).toEqual({ ...direct, headers: [] });
      expect(namesOf(through)).toEqual(namesOf(direct));
    }
  });

  test('listens on loopback only, unless it is told otherwise', async () => {
    const bench = cliBench();
    mkdirSync(bench.path('state'));
    const open = ['proxy', '--listen', '0.0.0.0:0', '--state', 'state'];

    const refused = await bench.json(open);
    const allowed = await startListening(bench.dir, [...open, '--allow-remote']);
    const taken = await bench.json(['proxy', '--listen', `127.0.0.1:${allowed.port}`, '--state', 'state']);
    const nowhere = await bench.json(['proxy', '--listen', '127.0.0.1:0', '--state', 'nowhere']);

    expect(refused).toMatchObject({ code: 2, value: { error: { code: 'usage', option: '--listen' } } });
    expect(taken).toMatchObject({ code: 2, value: { error: { code: 'listen_failed' } } });
    expect(nowhere).toMatchObject({ code: 2, value: { error: { code: 'state_unreadable' } } });
  });
});
