import { once } from 'node:events';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { onTestFinished } from 'vitest';

/** One request as it arrived. */
interface Heard {
  readonly method: string;
  readonly path: string;
  readonly headers: IncomingMessage['headers'];
  readonly body: string;
}

/** A server on the loopback interface that answers as the test says. */
export interface HttpExecutor {
  readonly url: string;
  readonly heard: Heard[];
  /** Answers a request; may keep it waiting for ever. */
  answer: (request: Heard, response: ServerResponse) => void;
  close(): Promise<void>;
}

/** Answers with a status and a JSON body. */
export function reply(response: ServerResponse, status: number, body: unknown = {}): void {
  response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body));
}

/** Starts a server; it ends with the test. */
export async function httpExecutor(): Promise<HttpExecutor> {
  const server = createServer((request, response) => {
    const chunks: Buffer[] = [];
    request.on('data', (chunk: Buffer) => chunks.push(chunk));
    request.on('end', () => {
      const heard = {
        method: request.method ?? '',
        path: request.url ?? '',
        headers: request.headers,
        body: Buffer.concat(chunks).toString('utf8'),
      };
      self.heard.push(heard);
      self.answer(heard, response);
    });
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  const self: HttpExecutor = {
    url: `http://127.0.0.1:${port}`,
    heard: [],
    answer: (_request, response) => reply(response, 404),
    close: async () => {
      server.closeAllConnections();
      if (server.listening) {
        server.close();
        await once(server, 'close');
      }
    },
  };
  onTestFinished(self.close);
  return self;
}
