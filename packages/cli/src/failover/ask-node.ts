import { Agent, request } from 'node:http';
import { NODE_HEADER } from '../state/state-folder.ts';

/** How long a node may take to answer, in milliseconds. A node that is well answers within a few. */
const ANSWER_TIMEOUT_MS = 2000;

/** A connection for one question: one that is kept could be to a node that is gone. */
const CONNECTIONS = new Agent({ keepAlive: false });

/** What somebody answered. */
export interface NodeAnswer {
  readonly status: number;
  readonly body: string;
  /** The name of the node that answered; null if it does not tell. */
  readonly node: string | null;
}

/** What is asked of a node. */
export interface Question {
  readonly path: string;
  readonly method?: 'GET' | 'PUT';
  readonly body?: string;
  /** Sent along where the node wants one. */
  readonly token?: string | null;
}

/**
 * Asks a node one thing.
 *
 * @throws Error if there is no answer; see {@link isRefused}.
 */
export function askNode(
  url: URL,
  { path, method = 'GET', body, token = null }: Question,
): Promise<NodeAnswer> {
  return new Promise((resolve, reject) => {
    const headers = token === null ? {} : { authorization: `Bearer ${token}` };
    const asking = request(new URL(path, url), { method, headers, agent: CONNECTIONS }, (answer) => {
      const pieces: Buffer[] = [];
      answer.on('data', (piece: Buffer) => pieces.push(piece));
      answer.on('error', reject);
      answer.on('end', () => {
        const node = answer.headers[NODE_HEADER];
        resolve({
          status: answer.statusCode ?? 0,
          body: Buffer.concat(pieces).toString('utf8'),
          node: typeof node === 'string' ? node : null,
        });
      });
    });
    const timer = setTimeout(
      () => asking.destroy(new Error(`no answer within ${ANSWER_TIMEOUT_MS} ms`)),
      ANSWER_TIMEOUT_MS,
    );
    asking.on('close', () => clearTimeout(timer));
    asking.on('error', reject);
    asking.end(body);
  });
}

/** True if nobody listens there: the host is up, and no process holds the port. Silence may be a paused process. */
export function isRefused(error: unknown): boolean {
  if (error instanceof AggregateError) return error.errors.length > 0 && error.errors.every(isRefused);
  return error instanceof Error && 'code' in error && error.code === 'ECONNREFUSED';
}
