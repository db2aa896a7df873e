import type { Ledger } from '@custody/ledger';
import { UsageError } from '@custody/ledger';
import type { Context, MiddlewareHandler } from 'hono';
import { Hono } from 'hono';
import { bodyLimit } from 'hono/body-limit';
import { CliError } from '../../errors.ts';
import { answerError, toApiFailure } from '../api-errors.ts';
import { toBody } from './json-lines.ts';
import { openApiDocument } from './open-api.ts';
import type { Reply, Route, V1Node } from './route.ts';
import { ROUTES } from './routes.ts';

/** The header that names a request, so that it may be made again. */
const REQUEST_ID_HEADER = 'idempotency-key';

/** The largest batch of events or rows, in bytes; each event and record has a limit of its own. */
const MAX_BATCH_BYTES = 64 * 1024 * 1024;

const RECORDS = '/ports/records/';

/** Media types of JSON Lines. */
const LINES = /^application\/(x-ndjson|jsonl|x-jsonlines)\b/i;

/** How the API of a ledger is served. */
export interface V1Options {
  /** The largest record that is taken, in bytes. */
  readonly maxBodyBytes: number;
}

/** The ledger's own API, to be mounted under `/v1`. What it throws is answered by whoever mounts it. */
export function v1Api(node: V1Node, { maxBodyBytes }: V1Options): Hono {
  const api = new Hono();
  const document = JSON.stringify(openApiDocument(ROUTES));
  api.get('/openapi.json', (context) => context.body(document, 200, { 'content-type': 'application/json' }));
  for (const route of ROUTES) {
    const limit = limitBody(route.path.startsWith(RECORDS) ? maxBodyBytes : MAX_BATCH_BYTES);
    api.on(route.method.toUpperCase(), route.path.replaceAll(/\{(\w+)\}/g, ':$1'), limit, (context) =>
      answer(node, route, context),
    );
  }
  return api;
}

function limitBody(maxSize: number): MiddlewareHandler {
  return bodyLimit({
    maxSize,
    onError: (context) =>
      answerError(context, 'body_too_large', {
        message: `the body is larger than ${maxSize} bytes`,
        hint: 'Send it in parts.',
        facts: { limit: maxSize },
      }),
  });
}

async function answer(node: V1Node, route: Route, context: Context): Promise<Response> {
  const body = route.body === undefined ? undefined : await readBody(context, route);
  const signals = [context.req.raw.signal, node.stopping];
  const requestId = context.req.header(REQUEST_ID_HEADER);
  const work = (ledger: Ledger, ended: AbortSignal | undefined): Promise<Reply> =>
    route.answer({
      params: context.req.param() as Record<string, string>,
      query: queryOf(context),
      body,
      ledger,
      commands: route.use === 'command' && requestId !== undefined ? ledger.once(requestId) : ledger,
      signal: AbortSignal.any(ended === undefined ? signals : [...signals, ended]),
    });
  const use = route.use === 'read' ? node.read : node.write;
  return new Promise((resolve, reject) => {
    use(async (ledger: Ledger, ended?: AbortSignal) => {
      const reply = await work(ledger, ended);
      if (!('lines' in reply)) return resolve(documentOf(context, reply));
      await sendLines(reply, context.req.raw.signal, (stream) => resolve(linesOf(context, stream)));
    }).catch(reject);
  });
}

function documentOf(context: Context, reply: Exclude<Reply, { lines: unknown }>): Response {
  const text = 'text' in reply ? reply.text : JSON.stringify(reply.value);
  const status = reply.status ?? 200;
  const retry: Record<string, string> = status === 503 ? { 'retry-after': '1' } : {};
  return context.body(text, status, {
    'content-type': 'application/json',
    'cache-control': 'no-store',
    ...retry,
  });
}

function linesOf(context: Context, stream: ReadableStream<Uint8Array>): Response {
  return context.body(stream, 200, {
    'content-type': 'application/x-ndjson',
    'cache-control': 'no-store',
  });
}

/** Sends lines, and comes back when the last one is gone or nobody reads any more: the ledger is in use until then. */
async function sendLines(
  { lines, mayBeSilent = false }: Extract<Reply, { lines: unknown }>,
  client: AbortSignal,
  send: (stream: ReadableStream<Uint8Array>) => void,
): Promise<void> {
  const iterator = lines[Symbol.asyncIterator]();
  // What fails before the first line can still be told with a status of its own.
  const first = mayBeSilent ? null : await iterator.next();
  await new Promise<void>((resolve) => {
    const body = toBody(iterator, {
      first,
      gather: !mayBeSilent,
      onFault: (error) => `${toApiFailure(error).body}\n`,
      onEnd: resolve,
    });
    // Whoever left before the first byte reads nothing, and cancels nothing either.
    client.addEventListener('abort', () => resolve(), { once: true });
    send(body);
  });
}

/** Parameters of a query; one that is given several times is a list. */
function queryOf(context: Context): Record<string, string | readonly string[]> {
  return Object.fromEntries(
    Object.entries(context.req.queries()).map(([name, values]) => [
      name,
      values.length === 1 ? (values[0] ?? '') : values,
    ]),
  );
}

async function readBody(context: Context, route: Route): Promise<unknown> {
  const bytes = await context.req.arrayBuffer();
  const text = decode(bytes);
  const isLines = LINES.test(context.req.header('content-type') ?? '');
  if (isLines && route.bodyLines !== undefined) return text;
  if (text === '') return {};
  try {
    return JSON.parse(text) as unknown;
  } catch {
    throw new CliError('invalid_json', 'the body is no JSON document', {
      hint: 'Send one JSON document. JSON Lines are application/x-ndjson.',
    });
  }
}

function decode(bytes: ArrayBuffer): string {
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(bytes);
  } catch {
    throw new UsageError('invalid_option', 'the body is not UTF-8', {
      hint: 'Send UTF-8.',
      facts: { field: null },
    });
  }
}
