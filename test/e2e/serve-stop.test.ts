import { once } from 'node:events';
import { connect } from 'node:net';
import { describe, expect, test } from 'vitest';
import { cliBench, finished } from '../support/cli.ts';
import { NODE_STORE, serveArgs, startNode } from '../support/running-node.ts';

describe('a node that is stopped', () => {
  test.each(['SIGTERM', 'SIGINT'] as const)(
    'by %s answers what it has accepted, then exits 0',
    async (signal) => {
      const node = await startNode(cliBench());
      const idle = connect(node.port, '127.0.0.1');
      const slow = connect(node.port, '127.0.0.1');
      await Promise.all([once(idle, 'connect'), once(slow, 'connect')]);
      const answer = collected(slow);
      const idleClosed = once(idle, 'close');
      slow.write('PUT /records/r-1 HTTP/1.1\r\nhost: x\r\ncontent-length: 6\r\n\r\nfir');
      // The next answer tells that the server has read what came before it.
      await node.ask('/health');

      node.child.kill(signal);
      await refusing(node.port);
      // Nobody waits for a client that has asked nothing.
      await idleClosed;
      slow.write('st!');

      expect(await answer).toMatch(/^HTTP\/1\.1 204 /);
      const { code, stdout } = await node.ended;
      expect({ code, lines: stdout.trim().split('\n').length }).toEqual({ code: 0, lines: 1 });
    },
  );

  test('closes a connection that its client would keep', async () => {
    const node = await startNode(cliBench());
    const kept = connect(node.port, '127.0.0.1');
    await once(kept, 'connect');
    kept.write('GET /health HTTP/1.1\r\nhost: x\r\n\r\n');
    await once(kept, 'data');

    node.child.kill('SIGTERM');

    await once(kept, 'close');
    expect((await node.ended).code).toBe(0);
  });

  test('waits no longer for a request than a request may take', async () => {
    const node = await startNode(cliBench(), 'primary', ['--request-timeout', '1s']);
    const slow = connect(node.port, '127.0.0.1');
    await once(slow, 'connect');
    slow.on('error', () => undefined);
    slow.write('PUT /records/r-1 HTTP/1.1\r\nhost: x\r\ncontent-length: 6\r\n\r\nfir');
    await node.ask('/health');

    node.child.kill('SIGTERM');

    expect((await node.ended).code).toBe(0);
  });

  test('twice ends at once', async () => {
    const node = await startNode(cliBench());
    const slow = connect(node.port, '127.0.0.1');
    await once(slow, 'connect');
    slow.on('error', () => undefined);
    slow.write('PUT /records/r-1 HTTP/1.1\r\nhost: x\r\ncontent-length: 6\r\n\r\nfir');
    await node.ask('/health');

    node.child.kill('SIGTERM');
    await refusing(node.port);
    node.child.kill('SIGINT');

    expect(await node.ended).toMatchObject({ code: null, signal: 'SIGINT' });
  });

  test('as soon as it listens ends as well', async () => {
    const bench = cliBench();
    const child = bench.start(serveArgs(bench, 'primary'));
    const ended = finished(child);
    await once(child.stdout, 'data');
    child.kill('SIGTERM');

    expect((await ended).code).toBe(0);
  });
});

test('P1 every record that was answered 204 survives kill -9', async () => {
  const bench = cliBench();
  const node = await startNode(bench);
  const kept: number[] = [];
  const putting = Array.from({ length: 8 }, async (_none, worker) => {
    for (let id = worker; node.child.signalCode === null; id += 8) {
      if ((await node.put(`r-${id}`, `text ${id}`)) !== 204) return;
      kept.push(id);
      if (kept.length === 100) node.child.kill('SIGKILL');
    }
  });
  // Whoever waits for an answer when the server dies gets none.
  await Promise.allSettled(putting);
  await node.ended;

  const again = await startNode(bench);

  expect(kept.length).toBeGreaterThanOrEqual(100);
  const texts = await Promise.all(kept.map(async (id) => (await again.get(`r-${id}`)).text));
  expect(texts).toEqual(kept.map((id) => `text ${id}`));
  expect((await bench.json(['-s', NODE_STORE, 'verify', '--rebuild'])).value).toMatchObject({ ok: true });
});

test('a client that is too slow is sent away, and nothing of its request is kept', async () => {
  const node = await startNode(cliBench(), 'primary', ['--request-timeout', '1s']);
  const slow = connect(node.port, '127.0.0.1');
  await once(slow, 'connect');
  const answer = collected(slow);
  slow.write('PUT /records/r-1 HTTP/1.1\r\nhost: x\r\ncontent-length: 6\r\n\r\nfir');

  expect(await answer).toMatch(/^HTTP\/1\.1 408 /);
  expect((await node.get('r-1')).status).toBe(404);
});

/** All that a connection says until it ends. */
function collected(socket: ReturnType<typeof connect>): Promise<string> {
  const pieces: string[] = [];
  socket.setEncoding('utf8').on('data', (text: string) => pieces.push(text));
  return once(socket, 'close').then(() => pieces.join(''));
}

/** Waits until nobody accepts connections at a port any more. */
async function refusing(port: number): Promise<void> {
  for (;;) {
    const probe = connect(port, '127.0.0.1');
    const isTaken = await Promise.race([
      once(probe, 'connect').then(() => true),
      once(probe, 'error').then(() => false),
    ]).catch(() => false);
    probe.destroy();
    if (!isTaken) return;
  }
}
