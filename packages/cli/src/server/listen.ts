import type { Server } from 'node:http';
import { createAdaptorServer } from '@hono/node-server';
import type { Hono } from 'hono';
import { CliError } from '../errors.ts';
import { openConnections } from './open-connections.ts';

/** Where a server listens. */
export interface Address {
  readonly host: string;
  /** 0 for any that is free. */
  readonly port: number;
}

/** How long a client may take, in milliseconds. */
export interface ServerTimes {
  /** For a whole request, from its first byte to its last. Also how long a stopping server waits for what it accepted. */
  readonly requestMs: number;
}

/** A server that answers. */
export interface Listening {
  /** The real address, such as `http://127.0.0.1:8081`. */
  readonly url: string;
  /** Accepts nothing new, and returns once everything that was accepted is answered. */
  stop(): Promise<void>;
}

/** All headers of a request together, in bytes; Node answers 431 beyond it. */
const MAX_HEADER_BYTES = 16 * 1024;

/** How long a client may take for the headers of a request, in milliseconds. */
const HEADERS_MS = 10_000;

/** How long a connection is kept for its next request, in milliseconds. */
const KEEP_ALIVE_MS = 5_000;

/** Connections at one time; more are closed at once. */
const MAX_CONNECTIONS = 2_000;

/**
 * Listens at an address.
 *
 * @throws CliError `listen_failed` if the address is taken or not ours.
 */
export async function listen(app: Hono, { host, port }: Address, times: ServerTimes): Promise<Listening> {
  const server = createAdaptorServer({
    fetch: app.fetch,
    serverOptions: {
      maxHeaderSize: MAX_HEADER_BYTES,
      headersTimeout: Math.min(HEADERS_MS, times.requestMs),
      requestTimeout: times.requestMs,
      keepAliveTimeout: KEEP_ALIVE_MS,
      connectionsCheckingInterval: Math.min(1_000, times.requestMs),
    },
  }) as Server;
  server.maxConnections = MAX_CONNECTIONS;
  const connections = openConnections(server);
  await new Promise<void>((resolve, reject) => {
    server.once('error', (error) => reject(toListenError(error, `${host}:${port}`)));
    server.listen(port, host, resolve);
  });
  return {
    url: urlOf(server),
    stop: async () => {
      const closed = new Promise<void>((resolve) => {
        server.close(() => resolve());
      });
      connections.closeWhenAnswered();
      // Node stops to watch for slow requests when it closes.
      const deadline = setTimeout(() => server.closeAllConnections(), times.requestMs);
      await closed;
      clearTimeout(deadline);
    },
  };
}

function urlOf(server: Server): string {
  const address = server.address();
  if (address === null || typeof address === 'string') throw new Error('the server listens on no port');
  const host = address.family === 'IPv6' ? `[${address.address}]` : address.address;
  return `http://${host}:${address.port}`;
}

function toListenError(error: Error, address: string): CliError {
  return new CliError('listen_failed', `${address} can't be listened on: ${error.message}`, {
    hint: 'Choose another address with --listen; port 0 takes any that is free.',
    facts: { address },
    cause: error,
  });
}
