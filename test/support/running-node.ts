import type { ChildProcessWithoutNullStreams } from 'node:child_process';
import { mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import type { CliBench, CliResult } from './cli.ts';
import { finished, shaped } from './cli.ts';
import { CLI_SCHEMAS } from './cli-schemas.ts';

/** What a node answered. */
interface NodeAnswer {
  readonly status: number;
  readonly headers: Headers;
  readonly text: string;
  readonly bytes: Buffer;
}

/** A node that runs as a process of its own; the end of the test kills it. */
export interface RunningNode {
  readonly url: string;
  readonly port: number;
  readonly child: ChildProcessWithoutNullStreams;
  /** The line that it printed when it began to listen. */
  readonly line: { readonly listening: string; readonly node: string; readonly role: string };
  /** Resolves with all it printed once it has ended. */
  readonly ended: Promise<CliResult>;
  /** What it has written to its log until now. */
  readonly log: () => string;
  ask(path: string, init?: RequestInit): Promise<NodeAnswer>;
  put(id: string, body: string | Uint8Array): Promise<number>;
  get(id: string): Promise<NodeAnswer>;
}

/** The store of the nodes in a bench, and the folder that they share. */
export const NODE_STORE = 'sqlite:custody.db';
const STATE = 'state';

/** Starts a node and waits until it listens. */
export async function startNode(
  bench: CliBench,
  name = 'primary',
  args: readonly string[] = [],
): Promise<RunningNode> {
  const child = bench.start(serveArgs(bench, name, args));
  const ended = finished(child);
  const log: string[] = [];
  child.stderr.on('data', (piece: Buffer) => log.push(piece.toString('utf8')));
  const first = new Promise<string>((resolve) => {
    createInterface({ input: child.stdout }).once('line', resolve);
  });
  const line = await Promise.race([
    first,
    ended.then((result) => {
      throw new Error(`the node ended before it listened: ${JSON.stringify(result)}`);
    }),
  ]);
  const told = shaped(CLI_SCHEMAS.serve, JSON.parse(line));
  const ask = (path: string, init?: RequestInit) => askNode(`${told.listening}${path}`, init);
  return {
    url: told.listening,
    port: Number(new URL(told.listening).port),
    child,
    line: told,
    ended,
    log: () => log.join(''),
    ask,
    put: async (id, body) => (await ask(`/records/${id}`, { method: 'PUT', body })).status,
    get: (id) => ask(`/records/${id}`),
  };
}

/** The arguments of `custody serve` for a node of a bench; its state folder is made. */
export function serveArgs(bench: CliBench, name: string, args: readonly string[] = []): readonly string[] {
  mkdirSync(bench.path(STATE), { recursive: true });
  return [
    '--json',
    '-s',
    NODE_STORE,
    'serve',
    '--listen',
    '127.0.0.1:0',
    '--node',
    name,
    '--state',
    STATE,
    ...args,
  ];
}

/** Writes a file of the state folder, or removes it. */
export function tell(bench: CliBench, file: string, text: string | null): void {
  const path = join(bench.path(STATE), file);
  mkdirSync(bench.path(STATE), { recursive: true });
  if (text === null) rmSync(path, { force: true });
  else writeFileSync(path, text);
}

async function askNode(url: string, init?: RequestInit): Promise<NodeAnswer> {
  const response = await fetch(url, init);
  const bytes = Buffer.from(await response.arrayBuffer());
  return { status: response.status, headers: response.headers, text: bytes.toString('utf8'), bytes };
}
