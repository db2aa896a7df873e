import type { HttpBindings } from '@hono/node-server';
import type { Context } from 'hono';
import { Hono } from 'hono';
import { isPlanned } from '../output/error-report.ts';
import { NODE_HEADER } from '../state/state-folder.ts';
import type { Deny } from './access.ts';
import { limitRate, requireToken } from './access.ts';
import { answerError, answerFailure, statusOfCode, toApiFailure } from './api-errors.ts';
import { serverMetrics } from './metrics.ts';
import { publicApi } from './public-api.ts';
import type { ServedNode } from './served-node.ts';
import type { Tokens } from './token-file.ts';

/** Where a server tells what happened. */
export interface ServerLog {
  info(facts: object, message: string): void;
  warn(facts: object, message: string): void;
  error(facts: object, message: string): void;
}

/** What a server is made of. */
export interface ServerParts {
  readonly node: ServedNode;
  readonly log: ServerLog;
  /** The largest body that is taken, in bytes. */
  readonly maxBodyBytes: number;
  /** Further APIs by the path under which they answer, such as `/v1`. What they throw is answered as JSON. */
  readonly apis?: Readonly<Record<string, Hono>>;
  /** Who may do what. @default everybody everything, which only fits a loopback address */
  readonly tokens?: Tokens | undefined;
  /** Requests a second that one address may send. @default any number */
  readonly maxRate?: number | undefined;
}

/** Puts a server together: the public API, metrics, and whatever else is to answer. It listens on nothing yet. */
export function createServer({ node, log, maxBodyBytes, apis = {}, tokens, maxRate }: ServerParts): Hono {
  const server = new Hono();
  const metrics = serverMetrics(node, (error) => log.error({ err: error }, 'figures can not be read'));
  const isApi = (path: string): boolean =>
    Object.keys(apis).some((base) => path === base || path.startsWith(`${base}/`));
  const deny: Deny = (context, code, told) =>
    isApi(context.req.path)
      ? answerError(context, code, told)
      : context.text(told.message, statusOfCode(code));
  server.use(metrics.observe);
  server.use(async (context, next) => {
    await next();
    context.res.headers.set('x-content-type-options', 'nosniff');
    context.res.headers.set(NODE_HEADER, node.name);
  });
  if (maxRate !== undefined) server.use(limitRate(maxRate, deny));
  if (tokens !== undefined) server.use(requireToken(tokens, deny));
  for (const [base, api] of Object.entries(apis)) server.route(base, api);
  server.route('/', publicApi(node, maxBodyBytes));
  server.route('/', metrics.api);
  server.notFound((context) =>
    isApi(context.req.path)
      ? answerError(context, 'not_found', {
          message: `there is nothing at ${context.req.path}`,
          hint: 'The OpenAPI document lists every path.',
        })
      : context.body(null, 404),
  );
  server.onError((error, context) => {
    // Nobody is there to be answered, and nothing is wrong here.
    if (isCutOff(context)) return context.text('the body ended early', 400);
    const { status, isFault } = toApiFailure(error);
    if (isFault) log.error({ err: error, method: context.req.method, path: context.req.path }, 'failed');
    if (isApi(context.req.path)) return answerFailure(context, error);
    return context.text(plainText(error, status), status);
  });
  return server;
}

/** True if the client left before it had sent its whole request. */
function isCutOff(context: Context): boolean {
  const { incoming } = context.env as Partial<HttpBindings>;
  return incoming?.readableAborted === true;
}

/** What the public API says in plain text of what was thrown. */
function plainText(error: Error, status: number): string {
  const code = isPlanned(error) ? error.code : null;
  if (code === 'read_only' || code === 'stale_epoch') return 'read-only';
  if (code === 'busy') return 'busy';
  return status === 503 ? 'unavailable' : 'failed';
}
