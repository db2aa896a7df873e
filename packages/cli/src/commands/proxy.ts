import type { CommandContext } from '../command-context.ts';
import { CliError, toError, usageError } from '../errors.ts';
import type { ExitCode } from '../exit-code.ts';
import { EXIT } from '../exit-code.ts';
import { printReport, remark } from '../output/report.ts';
import type { RunningProxy } from '../proxy/proxy-server.ts';
import { startProxy } from '../proxy/proxy-server.ts';
import { checkStateFolder } from '../server/open-served.ts';

/** Options of `proxy`. */
export interface ProxyCommandOptions {
  readonly listen: { readonly host: string; readonly port: number };
  /** The state folder. */
  readonly state: string;
  /** Listen also where other hosts can connect. */
  readonly allowRemote?: boolean | undefined;
}

/** Hosts that only this machine can reach. */
const LOOPBACK = /^(?:localhost|127(?:\.\d{1,3}){3}|::1)$/;

/** Passes requests on until SIGINT or SIGTERM; then it waits for those under way. */
export async function proxy(context: CommandContext, options: ProxyCommandOptions): Promise<ExitCode> {
  const { listen, state, allowRemote = false } = options;
  if (!(allowRemote || LOOPBACK.test(listen.host))) {
    throw usageError(
      `${listen.host} can be reached from other hosts, and what passes through is not encrypted`,
      'Listen on 127.0.0.1, or give --allow-remote.',
      { option: '--listen', value: listen.host },
    );
  }
  await checkStateFolder(state);
  const stopping = context.interruption();
  const running = await start(context, options);
  const url = `http://${running.host.includes(':') ? `[${running.host}]` : running.host}:${running.port}`;
  await printReport(context, { listening: url, state }, () => `the proxy listens on ${url}`);
  await aborted(stopping);
  await running.stop();
  return EXIT.done;
}

async function start(context: CommandContext, { listen, state }: ProxyCommandOptions): Promise<RunningProxy> {
  try {
    return await startProxy({
      ...listen,
      folder: state,
      onFault: (fault) =>
        void remark(context, fault === null ? 'requests pass again' : `answering 502: ${fault}`),
    });
  } catch (error) {
    const address = `${listen.host}:${listen.port}`;
    throw new CliError('listen_failed', `${address} can't be listened on: ${toError(error).message}`, {
      hint: 'Choose another address with --listen; port 0 takes any that is free.',
      facts: { address },
      cause: error,
    });
  }
}

function aborted(signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal.aborted) resolve();
    else signal.addEventListener('abort', () => resolve(), { once: true });
  });
}
