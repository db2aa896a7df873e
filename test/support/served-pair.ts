import type { ChildProcessWithoutNullStreams } from 'node:child_process';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { onTestFinished } from 'vitest';
import type { z } from 'zod';
import type { CliBench, CliResult } from './cli.ts';
import { CLI_BIN, cliBench, shaped } from './cli.ts';
import { CLI_SCHEMAS, REFUSAL_SCHEMA } from './cli-schemas.ts';

/** A process of the command that listens. */
export interface ListeningProcess {
  readonly url: string;
  readonly port: number;
  readonly child: ChildProcessWithoutNullStreams;
  /** What it has said on stderr so far. */
  log(): string;
  /** Kills it as a power cut would, and returns when it is gone. */
  kill(): Promise<void>;
  /** Sends SIGTERM, and returns its exit code. */
  stop(): Promise<number | null>;
}

/** A ledger with nodes and a proxy, all in processes of their own on loopback. */
export interface ServedLedger extends CliBench {
  /** The state folder. */
  readonly folder: string;
  readonly store: string;
  startNode(name: string, options?: NodeOptions): Promise<ListeningProcess>;
  startProxy(port?: number): Promise<ListeningProcess>;
  /** Writes a file of the state folder as an operator would. */
  say(name: string, line: string): void;
  /** The line of a file of the state folder. */
  told(name: string): string;
  /** Every file of the state folder with its bytes and times, to be compared. */
  everyFile(): Readonly<Record<string, string>>;
}

interface NodeOptions {
  /** @default any */
  readonly port?: number;
  /** Another state folder than the one that all share, as on a host that sees none of it. */
  readonly folder?: string;
  readonly more?: readonly string[];
  /** Settings of its process, beside those of the tests. */
  readonly env?: Readonly<Record<string, string>>;
}

/** Makes a store and a state folder. The end of the test kills every process and removes both. */
export async function servedLedger(store?: string): Promise<ServedLedger> {
  const bench = cliBench();
  const url = store ?? `sqlite:${bench.path('custody.db')}`;
  const folder = bench.path('state');
  mkdirSync(folder);
  const withStore = (args: readonly string[]) => ['-s', url, ...args];
  const made = await bench.run(withStore(['init']));
  if (made.code !== 0) throw new Error(made.stderr);
  return {
    ...bench,
    run: (args, input) => bench.run(withStore(args), input),
    json: (args, input) => bench.json(withStore(args), input),
    lines: (args, input) => bench.lines(withStore(args), input),
    folder,
    store: url,
    startNode: (name, options = {}) =>
      startListening(
        bench.dir,
        [
          ...withStore(['serve', '--listen', `127.0.0.1:${options.port ?? 0}`, '--node', name]),
          ...['--state', options.folder ?? folder, ...(options.more ?? [])],
        ],
        options.env,
      ),
    startProxy: (port = 0) =>
      startListening(bench.dir, ['proxy', '--listen', `127.0.0.1:${port}`, '--state', folder]),
    say: (name, line) => writeFileSync(join(folder, name), `${line}\n`),
    told: (name) => readFileSync(join(folder, name), 'utf8').trimEnd(),
    everyFile: () =>
      Object.fromEntries(
        readdirSync(folder).map((name) => [
          name,
          `${statSync(join(folder, name)).mtimeMs} ${readFileSync(join(folder, name), 'hex')}`,
        ]),
      ),
  };
}

/** Starts a command that listens, and returns once it does. */
export async function startListening(
  cwd: string,
  args: readonly string[],
  env: NodeOptions['env'] = {},
): Promise<ListeningProcess> {
  const child = spawn(process.execPath, [CLI_BIN, '--json', ...args], {
    cwd,
    env: { ...process.env, ...env },
  });
  let log = '';
  child.stderr.on('data', (piece: Buffer) => {
    log += piece.toString('utf8');
  });
  const gone = once(child, 'close') as Promise<[number | null, NodeJS.Signals | null]>;
  const kill = async () => {
    child.kill('SIGKILL');
    await gone;
  };
  onTestFinished(kill);
  const first = once(createInterface({ input: child.stdout }), 'line') as Promise<[string]>;
  const [line] = await Promise.race([
    first,
    gone.then(([code]) => {
      throw new Error(`${args.join(' ')} ended with ${code}: ${log}`);
    }),
  ]);
  const { listening } = JSON.parse(line) as { readonly listening?: string };
  if (listening === undefined) {
    await gone;
    throw new Error(`${args.join(' ')} does not listen: ${line}`);
  }
  const url = new URL(listening);
  return {
    url: url.origin,
    port: Number(url.port),
    child,
    log: () => log,
    kill,
    stop: async () => {
      child.kill('SIGTERM');
      const [code] = await gone;
      return code;
    },
  };
}

/** The scene of the contract: a primary, its replica, and a proxy in front of the primary. */
export interface Pair extends ServedLedger {
  readonly primary: ListeningProcess;
  readonly replica: ListeningProcess;
  readonly proxy: ListeningProcess;
  /** Runs a command of the failover from the primary to the replica. */
  failover(
    verb: 'promote' | 'status',
    ...more: readonly string[]
  ): Promise<{ readonly code: number | null; readonly value: unknown; readonly stderr: string }>;
}

/** Starts the scene of the contract; `primary` answers until it is killed. */
export async function startPair(store?: string): Promise<Pair> {
  const served = await servedLedger(store);
  served.say('replica.role', 'replica');
  const primary = await served.startNode('primary');
  const replica = await served.startNode('replica');
  served.say('upstream', String(primary.port));
  const proxy = await served.startProxy();
  return {
    ...served,
    primary,
    replica,
    proxy,
    failover: async (verb, ...more) => {
      const ends = ['--old', primary.url, '--new', replica.url, '--public', proxy.url];
      return failoverBy(served, [verb, ...ends, ...more]);
    },
  };
}

/** Runs a command of a failover with `--json`. */
export async function failoverBy(
  { run, folder }: ServedLedger,
  [verb = '', ...args]: readonly string[],
): Promise<{ readonly code: number | null; readonly value: unknown; readonly stderr: string }> {
  const result: CliResult = await run(['--json', 'failover', verb, '--state', folder, ...args]);
  return { code: result.code, value: JSON.parse(result.stdout || 'null') as unknown, stderr: result.stderr };
}

/** The report of a failover that was carried out. */
export function carriedOut({
  code,
  value,
  stderr,
}: {
  readonly code: number | null;
  readonly value: unknown;
  readonly stderr: string;
}): z.output<(typeof CLI_SCHEMAS)['failover status']> {
  if (code !== 0) throw new Error(`exit ${code}: ${JSON.stringify(value)} ${stderr}`);
  return shaped(CLI_SCHEMAS['failover status'], value);
}

/** The reason of a failover that was refused. */
export function refusalOf({
  code,
  value,
}: {
  readonly code: number | null;
  readonly value: unknown;
}): string {
  if (code !== 1) throw new Error(`exit ${code}: ${JSON.stringify(value)}`);
  return shaped(REFUSAL_SCHEMA, value).reason ?? '';
}

/** What a node or a proxy answers to one request on a connection of its own. */
export async function ask(
  base: string,
  path: string,
  init: RequestInit = {},
): Promise<{ readonly status: number; readonly body: string }> {
  const headers = { connection: 'close', ...(init.headers as Record<string, string> | undefined) };
  const answer = await fetch(new URL(path, base), { ...init, headers });
  return { status: answer.status, body: await answer.text() };
}

/** Stores a record; the status of the answer. */
export async function put(base: string, id: string, text: string): Promise<number> {
  return (await ask(base, `/records/${id}`, { method: 'PUT', body: text })).status;
}

/** The text of a record; the status where there is none. */
export async function get(base: string, id: string): Promise<string | number> {
  const { status, body } = await ask(base, `/records/${id}`);
  return status === 200 ? body : status;
}
