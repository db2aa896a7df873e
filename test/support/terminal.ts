import { tmpdir } from 'node:os';
import { stripVTControlCharacters } from 'node:util';
import { onTestFinished } from 'vitest';
import { CLI_BIN } from './cli.ts';

/** A size as most terminals have it when nobody has changed it. */
const COLUMNS = 80;
const ROWS = 24;

/** What runs on a terminal, and what it printed there. */
export interface OnTerminal {
  /** Everything that was written to the terminal so far, colours and all. */
  readonly output: () => string;
  /** What a person types. */
  readonly type: (keys: string) => void;
  readonly kill: (signal: NodeJS.Signals) => void;
  /** Resolves once the output contains the text. */
  readonly shows: (text: string) => Promise<void>;
  readonly ended: Promise<{ readonly code: number; readonly signal: number }>;
}

/** Starts the command on a terminal of its own, as a person would have it. */
export async function startOnTerminal(
  args: readonly string[],
  place: { readonly dir: string; readonly env?: Readonly<Record<string, string>>; readonly rows?: number },
): Promise<OnTerminal> {
  // Compiled when it is installed. Where that failed this throws: a terminal that is missing fails the test.
  const { spawn } = await import('node-pty');
  const child = spawn(process.execPath, [CLI_BIN, ...args], {
    name: 'xterm-256color',
    cols: COLUMNS,
    rows: place.rows ?? ROWS,
    cwd: place.dir,
    env: { PATH: process.env['PATH'] ?? '', TMPDIR: tmpdir(), TERM: 'xterm-256color', ...place.env },
  });
  let output = '';
  const waiting = new Set<() => void>();
  child.onData((data) => {
    output += data;
    for (const look of waiting) look();
  });
  const ended = new Promise<{ code: number; signal: number }>((resolve) => {
    child.onExit(({ exitCode, signal }) => resolve({ code: exitCode, signal: signal ?? 0 }));
  });
  onTestFinished(() => {
    try {
      child.kill('SIGKILL');
    } catch {
      // It has ended.
    }
  });
  return {
    output: () => output,
    type: (keys) => child.write(keys),
    kill: (signal) => child.kill(signal),
    shows: (text) =>
      new Promise((resolve, reject) => {
        const look = (): void => {
          if (!output.includes(text)) return;
          waiting.delete(look);
          resolve();
        };
        waiting.add(look);
        void ended.then(() => reject(new Error(`it ended without showing ${text}:\n${output}`)));
        look();
      }),
    ended,
  };
}

/** Runs the command on a terminal to its end. */
export async function runOnTerminal(
  args: readonly string[],
  place: { readonly dir: string; readonly env?: Readonly<Record<string, string>>; readonly rows?: number },
): Promise<{ readonly code: number; readonly raw: string; readonly lines: readonly string[] }> {
  const run = await startOnTerminal(args, place);
  const { code } = await run.ended;
  const raw = run.output();
  return { code, raw, lines: plain(raw).split('\n') };
}

/** The output as a person reads it: without colours, and with lines that end as in a file. */
export function plain(output: string): string {
  return stripVTControlCharacters(output).replaceAll('\r\n', '\n').trimEnd();
}
