import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { forward } from './forward.ts';
import type { Upstream } from './upstream.ts';
import { readUpstream } from './upstream.ts';

/** How long requests may go on once the proxy is to stop, in milliseconds. */
const DRAIN_MS = 10_000;

/** What a proxy is started with. */
export interface ProxyOptions {
  readonly host: string;
  /** 0 for any that is free. */
  readonly port: number;
  /** The state folder. */
  readonly folder: string;
  /** Hears why requests fail, once until something else is the case; null when they pass again. */
  readonly onFault: (fault: string | null) => void;
}

/** A proxy that listens. */
export interface RunningProxy {
  readonly host: string;
  readonly port: number;
  /** Takes no more requests, and returns when those under way have ended. */
  stop(): Promise<void>;
}

/**
 * Starts a proxy. Where each request goes is read from the state folder as it comes; nothing of it is kept.
 *
 * @throws Error of the system if the address can't be listened on.
 */
export async function startProxy({ host, port, folder, onFault }: ProxyOptions): Promise<RunningProxy> {
  const tell = onChange(onFault);
  const server = createServer((request, response) => {
    void pass(request, response);
  });
  // A client may take its time with a body; how long is for the node to say.
  server.requestTimeout = 0;
  await listening(server, host, port);
  const own = server.address() as AddressInfo;

  async function pass(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const upstream = await readUpstream(folder);
    const fault = 'fault' in upstream ? upstream.fault : loopFault(upstream, own);
    if ('fault' in upstream || fault !== null) return refuse(request, response, fault ?? '');
    try {
      forward(request, response, {
        upstream,
        onUnreachable: (error) => refuse(request, response, `${place(upstream)}: ${error.message}`),
      });
      response.once('finish', () => {
        if (response.statusCode !== BAD_GATEWAY) tell(null);
      });
    } catch (error) {
      refuse(request, response, `the request can't be passed on: ${String(error)}`);
    }
  }

  function refuse(request: IncomingMessage, response: ServerResponse, fault: string): void {
    tell(fault);
    request.resume();
    response.writeHead(BAD_GATEWAY, { 'content-length': 0 }).end();
  }

  return { host: own.address, port: own.port, stop: () => stopped(server) };
}

const BAD_GATEWAY = 502;

/** A proxy that is its own upstream would ask itself until no connection is left. */
function loopFault({ host, port }: Upstream, own: AddressInfo): string | null {
  const isOwnHost = ['127.0.0.1', 'localhost', '::1', own.address].includes(host);
  return isOwnHost && port === own.port ? `the upstream ${host}:${port} is the proxy itself` : null;
}

function place({ host, port }: Upstream): string {
  return `the upstream ${host}:${port} can't be reached`;
}

function onChange(tell: (fault: string | null) => void): (fault: string | null) => void {
  let last: string | null = null;
  return (fault) => {
    if (fault === last) return;
    last = fault;
    tell(fault);
  };
}

function listening(server: Server, host: string, port: number): Promise<void> {
  return new Promise((resolve, reject) => {
    server.once('error', reject);
    server.listen({ host, port }, () => {
      server.off('error', reject);
      resolve();
    });
  });
}

async function stopped(server: Server): Promise<void> {
  const closed = new Promise<void>((resolve) => {
    server.close(() => resolve());
  });
  server.closeIdleConnections();
  const timer = setTimeout(() => server.closeAllConnections(), DRAIN_MS);
  await closed;
  clearTimeout(timer);
}
