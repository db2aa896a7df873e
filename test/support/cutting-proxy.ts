import { once } from 'node:events';
import type { AddressInfo, Socket } from 'node:net';
import { connect, createServer } from 'node:net';
import { onTestFinished } from 'vitest';

/** A way to a server on which answers get lost. */
export interface CuttingProxy {
  readonly url: string;
  /** Requests whose answer was lost, by their first line. */
  readonly lost: readonly string[];
}

/**
 * A proxy in front of a server that lets every request through, and cuts the connection at the first answer to each
 * request that writes: the server has carried it out by then, and its client does not know. The same request made
 * again is answered.
 */
export async function cuttingProxy(
  upstream: string,
  {
    cutReadsAfter,
  }: { /** Also cuts the first answer that is longer, in bytes. */ readonly cutReadsAfter?: number } = {},
): Promise<CuttingProxy> {
  const target = new URL(upstream);
  const known = new Set<string>();
  const lost: string[] = [];
  const sockets = new Set<Socket>();
  let isLongCut = false;
  const server = createServer((client) => {
    const behind = connect(Number(target.port), target.hostname);
    let isDoomed = false;
    let passed = 0;
    for (const socket of [client, behind]) {
      sockets.add(socket);
      socket.on('error', () => undefined);
      socket.on('close', () => {
        client.destroy();
        behind.destroy();
      });
    }
    client.on('data', (piece) => {
      const text = piece.toString('latin1');
      const [line = ''] = text.split('\r\n');
      if (/^(POST|PUT|DELETE) \S+ HTTP/.test(line)) {
        const name = nameOf(line, text);
        isDoomed = !known.has(name);
        known.add(name);
        if (isDoomed) lost.push(line);
      } else if (/^GET \S+ HTTP/.test(line)) isDoomed = false;
      behind.write(piece);
    });
    behind.on('data', (piece) => {
      if (isDoomed) client.destroy();
      else if (cutReadsAfter !== undefined && !isLongCut && passed > cutReadsAfter) {
        isLongCut = true;
        client.destroy();
      } else client.write(piece);
      passed += piece.length;
    });
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  onTestFinished(() => {
    for (const socket of sockets) socket.destroy();
    server.close();
  });
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, lost };
}

/** A request and its repetition have one name: that of its id, or else its whole text. */
function nameOf(line: string, text: string): string {
  const [, id] = /^idempotency-key: *(\S+)\r$/im.exec(text) ?? [];
  return id === undefined ? text : `${line} ${id}`;
}
