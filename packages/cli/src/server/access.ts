import { getConnInfo } from '@hono/node-server/conninfo';
import type { Context, MiddlewareHandler } from 'hono';
import { RateLimiterMemory } from 'rate-limiter-flexible';
import type { TokenScope, Tokens } from './token-file.ts';

/** Answers that a request is not taken, in the form of the API that was asked. */
export type Deny = (context: Context, code: DenyCode, told: { message: string; hint: string }) => Response;

/** Why a request is not taken before anybody looks at it. */
type DenyCode = 'unauthorized' | 'forbidden' | 'too_many_requests';

/** A proxy and a failover ask these, and they say nothing that is worth a secret. */
const OPEN_PATHS: ReadonlySet<string> = new Set(['/health', '/role']);

/** Methods that change nothing. */
const READS: ReadonlySet<string> = new Set(['GET', 'HEAD', 'OPTIONS']);

/** These ask by POST, because what they ask for fits no URL; they change nothing either. */
const READING_POSTS: ReadonlySet<string> = new Set([
  '/v1/ports/rows/load',
  '/v1/ports/custody/tasks',
  '/v1/ports/scan',
]);

/** Takes requests with a token that allows their method, as `Authorization: Bearer TOKEN`. */
export function requireToken(tokens: Tokens, deny: Deny): MiddlewareHandler {
  return async (context, next) => {
    if (OPEN_PATHS.has(context.req.path)) return next();
    const isRead = READS.has(context.req.method) || READING_POSTS.has(context.req.path);
    const needed: TokenScope = isRead ? 'read' : 'write';
    const [, token] = /^Bearer +(\S+)$/i.exec(context.req.header('authorization') ?? '') ?? [];
    const scope = token === undefined ? null : await tokens.scopeOf(token);
    if (scope === null) {
      const response = deny(context, 'unauthorized', {
        message: 'a token is needed',
        hint: 'Send the header `Authorization: Bearer TOKEN` with a token of the server.',
      });
      response.headers.set('www-authenticate', 'Bearer');
      return response;
    }
    if (needed === 'write' && scope === 'read')
      return deny(context, 'forbidden', {
        message: 'the token allows to read only',
        hint: 'Use a token with the scope write.',
      });
    return next();
  };
}

/** Takes so many requests a second from one address; more are answered 429. */
export function limitRate(perSecond: number, deny: Deny): MiddlewareHandler {
  const limiter = new RateLimiterMemory({ points: perSecond, duration: 1 });
  return async (context, next) => {
    if (OPEN_PATHS.has(context.req.path)) return next();
    const address = getConnInfo(context).remote.address ?? '';
    const isTaken = await limiter.consume(address).then(
      () => true,
      () => false,
    );
    if (isTaken) return next();
    const response = deny(context, 'too_many_requests', {
      message: `more than ${perSecond} requests a second`,
      hint: 'Send fewer; try again in a second.',
    });
    response.headers.set('retry-after', '1');
    return response;
  };
}

/** True for an address that only this host reaches. */
export function isLoopback(host: string): boolean {
  return host === 'localhost' || host === '::1' || /^127(?:\.\d{1,3}){3}$/.test(host);
}
