import { once } from 'node:events';
import type { Socket } from 'node:net';
import { connect, createServer } from 'node:net';
import { onTestFinished } from 'vitest';

/** What happens to the next commit that passes. */
type CutAt = 'before_commit' | 'after_commit';

/** A way to a server that can be cut at the worst moment. */
export interface PostgresProxy {
  /** The URL of the database through this way. */
  readonly url: string;
  /** Cuts the next connection that commits: before the server hears of it, or before the client hears of the answer. */
  cutNext(at: CutAt): void;
  /** How many were cut. */
  readonly cuts: number;
}

/** Opens a way to the server at a URL; it ends with the test. */
export async function postgresProxy(url: string): Promise<PostgresProxy> {
  const target = new URL(url);
  const sockets = new Set<Socket>();
  const state: { armed: CutAt | null; cuts: number } = { armed: null, cuts: 0 };
  const server = createServer((client) => {
    const upstream = connect(Number(target.port), target.hostname);
    for (const socket of [client, upstream]) {
      sockets.add(socket);
      socket.on('error', () => undefined);
      socket.on('close', () => sockets.delete(socket));
    }
    upstream.on('data', (data) => client.write(data));
    upstream.on('close', () => client.destroy());
    client.on('close', () => upstream.end());
    client.on('data', (data) => {
      const cut = state.armed !== null && data.includes('commit\0') ? state.armed : null;
      if (cut === null) return upstream.write(data);
      state.armed = null;
      state.cuts += 1;
      if (cut === 'before_commit') return upstream.destroy();
      // The server hears the commit and ends the session by itself; its answer finds nobody.
      upstream.removeAllListeners('data');
      upstream.end(data);
      return client.destroy();
    });
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  onTestFinished(() => {
    server.close();
    for (const socket of sockets) socket.destroy();
  });
  const address = server.address();
  const through = new URL(url);
  through.port = String(typeof address === 'object' ? address?.port : '');
  return {
    url: through.href,
    cutNext: (at) => {
      state.armed = at;
    },
    get cuts() {
      return state.cuts;
    },
  };
}
