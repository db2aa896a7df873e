import type { Hono } from 'hono';
import type { CommandContext } from '../command-context.ts';
import { usageError } from '../errors.ts';
import type { ExitCode } from '../exit-code.ts';
import { EXIT } from '../exit-code.ts';
import { printReport } from '../output/report.ts';
import { isLoopback } from '../server/access.ts';
import type { ServerLog } from '../server/create-server.ts';
import { createServer } from '../server/create-server.ts';
import { healWhilePrimary, watchRole } from '../server/heal-while-primary.ts';
import type { Address } from '../server/listen.ts';
import { listen } from '../server/listen.ts';
import { checkStateFolder, servedStore } from '../server/open-served.ts';
import type { ServedNode } from '../server/served-node.ts';
import { startNode } from '../server/served-node.ts';
import { serverLog } from '../server/server-log.ts';
import { openTokens } from '../server/token-file.ts';
import { v1Api } from '../server/v1/v1-api.ts';

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
  /** A file of tokens; everybody may do everything without one. */
  readonly tokenFile?: string | undefined;
  /** Requests a second that one address may send. */
  readonly maxRate?: number | undefined;
  /** Heal rows while this node is primary: between two sweeps, in milliseconds. */
  readonly reconcile?: number | undefined;
}

/** Requests a second that one address may send where others than this host can. */
const DEFAULT_MAX_RATE = 1_000;

/** Serves a ledger until SIGINT or SIGTERM; then it finishes what it has accepted. */
export async function serve(context: CommandContext, options: ServeOptions): Promise<ExitCode> {
  const isOpen = !isLoopback(options.listen.host);
  if (isOpen && options.tokenFile === undefined)
    throw usageError(
      `${options.listen.host} can be reached from other hosts, so serving there needs --token-file`,
      'Listen on 127.0.0.1, or make a file of tokens.',
      { option: '--token-file' },
    );
  const open = servedStore(context.storeUrl);
  await checkStateFolder(options.state);
  const log = await serverLog(context);
  const tokens =
    options.tokenFile === undefined
      ? undefined
      : await openTokens(options.tokenFile, (error) =>
          log.error({ err: error }, 'the tokens stay as they were'),
        );
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
    const app = createServer({
      node,
      log,
      tokens,
      maxBodyBytes: options.maxBody,
      apis: { '/v1': v1Api(node, { maxBodyBytes: options.maxBody }) },
      maxRate: options.maxRate ?? (isOpen ? DEFAULT_MAX_RATE : undefined),
    });
    await serveUntilStopped(context, options, { app, node, log });
  } finally {
    await node.close();
  }
  return EXIT.done;
}

async function serveUntilStopped(
  context: CommandContext,
  options: ServeOptions,
  { app, node, log }: { readonly app: Hono; readonly node: ServedNode; readonly log: ServerLog },
): Promise<void> {
  const listening = await listen(app, options.listen, { requestMs: options.requestTimeout });
  const role = await node.role();
  await printReport(
    context,
    { listening: listening.url, node: options.node, role },
    () => `${options.node} listens on ${listening.url} as ${role}`,
  );
  const work = [watchRole(node)];
  if (options.reconcile !== undefined) work.push(healWhilePrimary(node, options.reconcile, log));
  await aborted(node.stopping);
  log.info({}, 'stopping');
  await Promise.all([listening.stop(), ...work]);
}

function aborted(signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal.aborted) resolve();
    else signal.addEventListener('abort', () => resolve(), { once: true });
  });
}
