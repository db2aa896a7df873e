import type { IncomingMessage, ServerResponse } from 'node:http';
import { Agent, request as send } from 'node:http';
import { pipeline } from 'node:stream';
import { endToEndHeaders } from './end-to-end-headers.ts';
import type { Upstream } from './upstream.ts';

/** How long a connection to the upstream may take to come about, in milliseconds. */
const CONNECT_TIMEOUT_MS = 5000;

/**
 * Each request goes out on a connection of its own: so it is known at once whether the node can be reached, and no
 * request is lost with an idle connection that the node has just closed.
 */
const CONNECTIONS = new Agent({ keepAlive: false });

/**
 * Passes a request on and its answer back, both as they come, and either end's abort to the other.
 *
 * @param onUnreachable called instead of an answer; nothing was sent to the client then.
 */
export function forward(
  request: IncomingMessage,
  response: ServerResponse,
  {
    upstream,
    onUnreachable,
  }: { readonly upstream: Upstream; readonly onUnreachable: (error: Error) => void },
): void {
  const outgoing = send({
    ...upstream,
    agent: CONNECTIONS,
    method: request.method,
    path: request.url,
    headers: requestHeaders(request, upstream),
  });
  limitConnecting(outgoing);
  outgoing.on('response', (answer) => {
    response.sendDate = false;
    response.writeHead(answer.statusCode ?? 0, answer.statusMessage, endToEndHeaders(answer.rawHeaders));
    // Ends, fails and is torn down as one: an answer that breaks off must not look like a whole one.
    pipeline(answer, response, () => undefined);
  });
  outgoing.on('error', (error) => {
    // Once there is an answer, it says what became of the request, also if the node would not hear it to its end.
    if (!(response.headersSent || response.destroyed)) onUnreachable(error);
  });
  outgoing.on('close', () => {
    request.unpipe(outgoing);
    request.resume();
  });
  response.on('close', () => outgoing.destroy());
  request.on('error', () => outgoing.destroy());
  request.pipe(outgoing);
}

/**
 * What the client said, framed for the next connection: a body without a length stays one in chunks. The connection is
 * ours to close: a node that closes it after an early answer would take that answer back if we are still sending.
 */
function requestHeaders({ rawHeaders, headers }: IncomingMessage, { host, port }: Upstream): string[] {
  const passed = endToEndHeaders(rawHeaders);
  if (headers['transfer-encoding'] !== undefined) passed.push('Transfer-Encoding', 'chunked');
  if (headers.host === undefined) passed.push('Host', `${host}:${port}`);
  return [...passed, 'Connection', 'keep-alive'];
}

/** A host that is gone answers nothing at all; the system would wait for minutes. */
function limitConnecting(outgoing: ReturnType<typeof send>): void {
  outgoing.on('socket', (socket) => {
    const timer = setTimeout(
      () => outgoing.destroy(new Error(`no connection within ${CONNECT_TIMEOUT_MS} ms`)),
      CONNECT_TIMEOUT_MS,
    );
    const stop = () => clearTimeout(timer);
    socket.once('connect', stop).once('close', stop);
  });
}
