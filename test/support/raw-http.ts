import type { IncomingMessage, RequestListener, Server } from 'node:http';
import { createServer, request } from 'node:http';
import type { AddressInfo } from 'node:net';
import { onTestFinished } from 'vitest';

/** A server of the test's own; the end of the test closes it. */
export async function listenHere(
  answer: RequestListener,
): Promise<{ readonly server: Server; readonly port: number }> {
  const server = createServer(answer);
  await new Promise<void>((resolve) => {
    server.listen(0, '127.0.0.1', resolve);
  });
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  return { server, port: (server.address() as AddressInfo).port };
}

/** An answer as it came over the wire. */
export interface RawAnswer {
  readonly status: number;
  readonly reason: string;
  readonly headers: readonly string[];
  readonly body: string;
}

/** Sends a request with exactly these headers on a connection of its own. */
export function sendRaw(
  url: string,
  {
    method = 'GET',
    headers = [],
    body,
  }: { readonly method?: string; readonly headers?: readonly string[]; readonly body?: string | Buffer } = {},
): Promise<RawAnswer> {
  return new Promise((resolve, reject) => {
    const { host } = new URL(url);
    const sending = request(url, { method, headers: ['Host', host, ...headers], agent: false }, (answer) => {
      readAll(answer).then(
        (text) =>
          resolve({
            status: answer.statusCode ?? 0,
            reason: answer.statusMessage ?? '',
            headers: answer.rawHeaders,
            body: text,
          }),
        reject,
      );
    });
    sending.on('error', reject);
    sending.end(body);
  });
}

/** The whole body as text; rejects if it breaks off. */
export async function readAll(message: IncomingMessage): Promise<string> {
  const pieces: Buffer[] = [];
  for await (const piece of message) pieces.push(piece as Buffer);
  return Buffer.concat(pieces).toString('utf8');
}
