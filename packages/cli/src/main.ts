import { readFileSync } from 'node:fs';
import type { CommanderError } from 'commander';
import pc from 'picocolors';
import type { CommandContext, CommandRunner, GlobalOptions, Printer } from './command-context.ts';
import { CliError, usageError } from './errors.ts';
import type { ExitCode } from './exit-code.ts';
import { EXIT } from './exit-code.ts';
import { errorJson, errorText, toErrorReport } from './output/error-report.ts';
import { programFor } from './output/program-for.ts';
import { createProgram, DEFAULT_STORE } from './program.ts';

// The only file that sees `process`: arguments, environment, streams and signals come in here, the exit code leaves.

/** Columns where nobody tells. */
const DEFAULT_COLUMNS = 80;

const args = process.argv.slice(2);
const isJsonAsked = args.slice(0, args.includes('--') ? args.indexOf('--') : undefined).includes('--json');
const isDebugAsked = (process.env['CUSTODY_DEBUG'] ?? '') !== '';
let outputFault: Error | null = null;
const out = printerOf(process.stdout);
const err = printerOf(process.stderr);

// What nobody awaited must not end in a stack trace either.
process.on('uncaughtException', (error) => {
  void fail(error).then((exitCode) => process.exit(exitCode));
});
process.exitCode = await main();

async function main(): Promise<ExitCode> {
  let exitCode: ExitCode = EXIT.done;
  let help = '';
  const run: CommandRunner = async (load, options) => {
    const command = await load();
    exitCode = await command(contextOf(program.opts<GlobalOptions>()), options);
  };
  const program = createProgram({
    version: readVersion(),
    run,
    columns: out.columns,
    writeOut: (text) => void out.write(text),
    writeErr: (text) => {
      help = text;
    },
  });
  try {
    await program.parseAsync(args, { from: 'user' });
    return outputFault === null ? exitCode : await fail(toOutputError(outputFault));
  } catch (error) {
    if (!isCommanderError(error)) return fail(error);
    if (error.exitCode === 0) return EXIT.done;
    // Without a command people get the help, which commander has written by now.
    if (error.code === 'commander.help' && !isJsonAsked) await err.write(help);
    return fail(toUsageError(error));
  }
}

async function fail(error: unknown): Promise<ExitCode> {
  const report = toErrorReport(error);
  if (isJsonAsked) await out.write(`${errorJson(report)}\n`);
  else await err.write(errorText(report));
  if (isDebugAsked && error instanceof Error) await err.write(`${traceOf(error)}\n`);
  return report.exitCode;
}

function traceOf(error: Error): string {
  const cause = error.cause instanceof Error ? `\ncaused by: ${traceOf(error.cause)}` : '';
  return `${error.stack ?? error.message}${cause}`;
}

function isCommanderError(error: unknown): error is CommanderError {
  return error instanceof Error && (error as Partial<CommanderError>).code?.startsWith('commander.') === true;
}

/** Commander's message as ours: `error: unknown option '--nope'` and perhaps `(Did you mean --node?)`. */
function toUsageError(error: CommanderError): CliError {
  if (error.code === 'commander.help')
    return usageError('a command is missing', 'custody --help lists the commands.');
  const [message = '', suggestion] = error.message.replace(/^error: /, '').split('\n');
  return usageError(
    message,
    suggestion?.replace(/^\((.*)\)$/, '$1') ??
      'custody --help, or --help after a command, explains what is right.',
  );
}

function toOutputError(cause: Error): CliError {
  return new CliError('output_failed', `the results can't be written: ${cause.message}`, {
    hint: 'What the command was to do is done; run a look again when there is room for its output.',
    cause,
  });
}

function contextOf(options: GlobalOptions): CommandContext {
  const { env } = process;
  return {
    storeUrl:
      [options.store, env['CUSTODY_STORE']].find((url) => url !== undefined && url !== '') ?? DEFAULT_STORE,
    program: (options.store ?? '') === '' ? 'custody' : programFor(options.store ?? ''),
    json: options.json ?? false,
    out,
    err,
    paint: pc.createColors(hasColours()),
    stdin: () => process.stdin,
    interruption,
    now: () => Date.now(),
  };
}

/** https://no-color.org: any value of NO_COLOR but the empty one means no. */
function hasColours(): boolean {
  const { env } = process;
  if ((env['NO_COLOR'] ?? '') !== '') return false;
  return (env['FORCE_COLOR'] ?? '') !== '' || (out.isTty && env['TERM'] !== 'dumb');
}

/** A second signal ends the process as if nobody listened. */
function interruption(): AbortSignal {
  const controller = new AbortController();
  const signals = ['SIGINT', 'SIGTERM'] as const;
  const interrupt = (): void => {
    for (const signal of signals) process.off(signal, interrupt);
    controller.abort();
  };
  for (const signal of signals) process.on(signal, interrupt);
  return controller.signal;
}

function printerOf(stream: NodeJS.WriteStream): Printer {
  let isClosed = false;
  stream.on('error', (error: NodeJS.ErrnoException) => {
    isClosed = true;
    // A reader that has seen enough is no fault; a full disk is.
    if (error.code !== 'EPIPE' && stream === process.stdout) outputFault ??= error;
  });
  return {
    // Absent, not false, on a stream that is no terminal.
    isTty: Boolean(stream.isTTY),
    // Asked at each look: a terminal may change its size.
    get columns() {
      return stream.columns || DEFAULT_COLUMNS;
    },
    get rows() {
      return stream.rows || null;
    },
    isClosed: () => isClosed,
    write: (text) =>
      new Promise((resolve) => {
        // The callback also comes after an error, so a reader that is gone holds nobody up.
        if (isClosed || text === '') resolve();
        else stream.write(text, () => resolve());
      }),
  };
}

function readVersion(): string {
  const manifest = JSON.parse(readFileSync(new URL('../package.json', import.meta.url), 'utf8')) as {
    readonly version: string;
  };
  return manifest.version;
}
