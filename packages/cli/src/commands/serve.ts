import type { CommandContext } from '../command-context.ts';
import type { ExitCode } from '../exit-code.ts';
import { EXIT } from '../exit-code.ts';
import { printReport } from '../output/report.ts';
import { createServer } from '../server/create-server.ts';
import type { Address } from '../server/listen.ts';
import { listen } from '../server/listen.ts';
import { checkStateFolder, servedStore } from '../server/open-served.ts';
import { startNode } from '../server/served-node.ts';
import { serverLog } from '../server/server-log.ts';

/** Options of `serve`. */
export interface ServeOptions {
  readonly listen: Address;
  /** The name of this node, by which its files in the state folder are called. */
  readonly node: string;
  /** The state folder, which all nodes share. */
  readonly state: string;
  /** The largest body that is taken, in bytes. */
  readonly maxBody: number;
  /** How long a client may take for one request, in milliseconds. */
  readonly requestTimeout: number;
}

/** Serves a ledger until SIGINT or SIGTERM; then it finishes what it has accepted. */
export async function serve(context: CommandContext, options: ServeOptions): Promise<ExitCode> {
  const open = servedStore(context.storeUrl);
  await checkStateFolder(options.state);
  const log = await serverLog(context);
  const stopping = context.interruption();
  const node = await startNode({
    name: options.node,
    directory: options.state,
    open,
    stopping,
    onRole: (role, because) => log.warn({ node: options.node, role, because }, 'the role changed'),
    onFault: (error) => log.error({ err: error }, 'a ledger could not be closed'),
  });
  try {
    const app = createServer({ node, log, maxBodyBytes: options.maxBody });
    const listening = await listen(app, options.listen, { requestMs: options.requestTimeout });
    const role = await node.role();
    await printReport(
      context,
      { listening: listening.url, node: options.node, role },
      () => `${options.node} listens on ${listening.url} as ${role}`,
    );
    await aborted(stopping);
    log.info({}, 'stopping');
    await listening.stop();
  } finally {
    await node.close();
  }
  return EXIT.done;
}

function aborted(signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal.aborted) resolve();
    else signal.addEventListener('abort', () => resolve(), { once: true });
  });
}
