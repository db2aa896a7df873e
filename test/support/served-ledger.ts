import type { Ledger } from '@custody/ledger';
import { createServer } from '../../packages/cli/src/server/create-server.ts';
import type { Listening } from '../../packages/cli/src/server/listen.ts';
import { listen } from '../../packages/cli/src/server/listen.ts';
import type { ServedNode } from '../../packages/cli/src/server/served-node.ts';
import { v1Api } from '../../packages/cli/src/server/v1/v1-api.ts';

/** A ledger that answers over HTTP, in this process. */
export interface ServedLedger {
  readonly url: string;
  stop(): Promise<void>;
  /** Returns once no request uses the ledger any more. */
  unused(): Promise<void>;
}

const MAX_BODY_BYTES = 64 * 1024 * 1024;

/** Serves a ledger that is open, as a primary that is never fenced. */
export async function serveLedger(ledger: Ledger, maxBodyBytes = MAX_BODY_BYTES): Promise<ServedLedger> {
  const stopping = new AbortController();
  const uses = new Set<Promise<unknown>>();
  const use = <T>(work: (open: Ledger, ended: AbortSignal) => Promise<T>): Promise<T> => {
    const using = work(ledger, stopping.signal);
    uses.add(using.catch(() => undefined));
    return using;
  };
  const node: ServedNode = {
    name: 'primary',
    stopping: stopping.signal,
    role: async () => 'primary',
    fence: async () => null,
    read: use,
    write: use,
    close: async () => undefined,
  };
  const quiet = () => undefined;
  const server = createServer({
    node,
    log: { info: quiet, warn: quiet, error: quiet },
    maxBodyBytes,
    apis: { '/v1': v1Api(node, { maxBodyBytes }) },
  });
  const listening: Listening = await listen(server, { host: '127.0.0.1', port: 0 }, { requestMs: 60_000 });
  return {
    url: listening.url,
    unused: async () => {
      await Promise.all(uses);
    },
    stop: async () => {
      stopping.abort();
      await listening.stop();
    },
  };
}
