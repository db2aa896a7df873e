import type { ChildProcessWithoutNullStreams } from 'node:child_process';
import { spawn } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { onTestFinished } from 'vitest';
import type { z } from 'zod';

/** The command as it is installed. */
export const CLI_BIN = fileURLToPath(new URL('../../packages/cli/bin/custody.js', import.meta.url));

/** What a child process is given. */
interface CliInput {
  readonly stdin?: string | Uint8Array;
  readonly env?: Readonly<Record<string, string>>;
  /** No file may grow beyond this many KiB, as on a disk that is full: what fits is written, the rest fails. */
  readonly fileLimitKiB?: number;
  /** Runs as a user without rights, whoever runs the tests. */
  readonly isNobody?: boolean;
}

/** What a child process left. */
export interface CliResult {
  readonly code: number | null;
  readonly signal: NodeJS.Signals | null;
  readonly stdout: string;
  readonly stderr: string;
}

/** A directory of its own for a test, and the command run in it. */
export interface CliBench {
  readonly dir: string;
  /** Path inside the directory. */
  readonly path: (name: string) => string;
  /** Runs the command to its end. */
  readonly run: (args: readonly string[], input?: CliInput) => Promise<CliResult>;
  /** Runs it with `--json` and reads the one document that it printed. */
  readonly json: (
    args: readonly string[],
    input?: CliInput,
  ) => Promise<{ readonly code: number | null; readonly value: unknown }>;
  /** Runs it with `--json` and reads its JSON Lines. */
  readonly lines: (args: readonly string[], input?: CliInput) => Promise<readonly unknown[]>;
  /** Starts it and leaves it running; the end of the test kills it. */
  readonly start: (args: readonly string[], input?: CliInput) => ChildProcessWithoutNullStreams;
}

/** Opens a bench; the end of the test removes it. */
export function cliBench(): CliBench {
  const dir = mkdtempSync(join(tmpdir(), 'custody-cli-'));
  onTestFinished(() => rmSync(dir, { recursive: true, force: true }));
  const start = (args: readonly string[], input: CliInput = {}): ChildProcessWithoutNullStreams => {
    const child = spawnCommand([process.execPath, CLI_BIN, ...args], dir, input);
    onTestFinished(() => {
      child.kill('SIGKILL');
    });
    return child;
  };
  const run = async (args: readonly string[], input: CliInput = {}): Promise<CliResult> => {
    const child = start(args, input);
    // A command that refuses its input early closes the pipe; that is its right.
    child.stdin.on('error', () => undefined);
    child.stdin.end(input.stdin ?? '');
    return finished(child);
  };
  return {
    dir,
    path: (name) => join(dir, name),
    start,
    run,
    json: async (args, input) => {
      const { code, stdout } = await run(['--json', ...args], input);
      return { code, value: JSON.parse(stdout) as unknown };
    },
    lines: async (args, input) => {
      const { stdout } = await run(['--json', ...args], input);
      return parseLines(stdout);
    },
  };
}

/** The user "nobody". */
const NOBODY = 65_534;

function spawnCommand(
  command: readonly string[],
  cwd: string,
  { env, fileLimitKiB, isNobody = false }: CliInput,
): ChildProcessWithoutNullStreams {
  const limited =
    fileLimitKiB === undefined
      ? command
      : ['bash', '-c', `ulimit -f ${fileLimitKiB}; exec "$0" "$@"`, ...command];
  const [file = '', ...rest] = limited;
  const user = isNobody && process.getuid?.() === 0 ? { uid: NOBODY, gid: NOBODY } : {};
  return spawn(file, rest, { cwd, env: environment(env), ...user });
}

/** Waits for a child to end, with all it printed. */
export async function finished(child: ChildProcessWithoutNullStreams): Promise<CliResult> {
  const stdout = collect(child.stdout);
  const stderr = collect(child.stderr);
  const [code, signal] = await new Promise<[number | null, NodeJS.Signals | null]>((resolve, reject) => {
    child.once('error', reject);
    child.once('close', (exitCode, exitSignal) => resolve([exitCode, exitSignal]));
  });
  return { code, signal, stdout: stdout(), stderr: stderr() };
}

/** An audit's text without the moment at which it was made, and the ages that follow from it. */
export function withoutMoment(json: string): string {
  return json.replaceAll(/"at":"[^"]*",/g, '').replaceAll(/"age_ms":\d+,/g, '');
}

/** JSON Lines as values. */
export function parseLines(text: string): readonly unknown[] {
  return text
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => JSON.parse(line) as unknown);
}

/** JSON Lines of events or rows, for stdin. */
export function toLines(...values: readonly object[]): string {
  return values.map((value) => `${JSON.stringify(value)}\n`).join('');
}

/** The value, checked and typed. Fails with every difference at once. */
export function shaped<Schema extends z.ZodType>(schema: Schema, value: unknown): z.output<Schema> {
  const parsed = schema.safeParse(value);
  if (parsed.success) return parsed.data;
  throw new Error(`${parsed.error.message}\nin ${JSON.stringify(value)}`);
}

function collect(stream: NodeJS.ReadableStream): () => string {
  const pieces: Buffer[] = [];
  stream.on('data', (piece: Buffer) => pieces.push(piece));
  return () => Buffer.concat(pieces).toString('utf8');
}

/** Nothing of the caller's settings, but for what Node itself needs. */
function environment(extra: CliInput['env'] = {}): NodeJS.ProcessEnv {
  return { PATH: process.env['PATH'] ?? '', TMPDIR: tmpdir(), ...extra };
}
