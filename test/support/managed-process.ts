import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import type { Journals, Ledger } from '@custody/ledger';
import { onTestFinished } from 'vitest';

const WORKER = fileURLToPath(new URL('./managed-worker.mjs', import.meta.url));

type Runs = Ledger['runs'];
type Tasks = Ledger['tasks'];
type Questions = Ledger['questions'];

/** A process of its own that holds a ledger open. Commands are carried out in the order in which they were sent. */
export interface ManagedProcess {
  readonly pid: number;
  /** A command of a holder. Rejects if the process throws, which it never should. */
  runs<Verb extends keyof Runs>(verb: Verb, args: Parameters<Runs[Verb]>[0]): ReturnType<Runs[Verb]>;
  tasks<Verb extends keyof Tasks>(verb: Verb, args: Parameters<Tasks[Verb]>[0]): ReturnType<Tasks[Verb]>;
  questions<Verb extends keyof Questions>(
    verb: Verb,
    args: Parameters<Questions[Verb]>[0],
  ): ReturnType<Questions[Verb]>;
  append(events: Parameters<Ledger['append']>[0]): ReturnType<Ledger['append']>;
  backfill(): Promise<unknown>;
  recover(directory: string, die?: string): ReturnType<Journals['recover']>;
  write(
    directory: string,
    entry: Parameters<Journals['write']>[0],
    die?: string,
  ): ReturnType<Journals['write']>;
  signal(name: 'SIGSTOP' | 'SIGCONT' | 'SIGKILL'): void;
  /** Resolves once the process is gone. */
  readonly gone: Promise<unknown>;
}

/** Starts a process that works on the ledger at a URL; it ends with the test. */
export async function startManaged(
  url: string,
  env: Readonly<Record<string, string>> = {},
): Promise<ManagedProcess> {
  const child = spawn(process.execPath, [WORKER, url], {
    stdio: ['pipe', 'pipe', 'inherit'],
    env: { ...process.env, ...env },
  });
  const gone = once(child, 'close');
  const waiting = new Map<
    number,
    { readonly resolve: (answer: never) => void; readonly reject: (error: Error) => void }
  >();
  let sent = 0;
  const ready = new Promise<void>((resolve) => {
    createInterface({ input: child.stdout }).on('line', (line) => {
      if (line === 'ready') return resolve();
      const { id, answer, error } = JSON.parse(line) as { id: number; answer?: unknown; error?: string };
      const caller = waiting.get(id);
      waiting.delete(id);
      if (error === undefined) caller?.resolve(answer as never);
      else caller?.reject(new Error(error));
    });
  });
  void gone.then(() => {
    for (const caller of waiting.values()) caller.reject(new Error('the process is gone'));
  });
  onTestFinished(async () => {
    child.kill('SIGKILL');
    await gone;
  });
  const call = (target: string, verb: string, args: unknown): Promise<never> =>
    new Promise((resolve, reject) => {
      sent += 1;
      waiting.set(sent, { resolve, reject });
      child.stdin.write(`${JSON.stringify({ id: sent, target, verb, args })}\n`);
    });
  await Promise.race([
    ready,
    gone.then(() => {
      throw new Error('the process ended before it was ready');
    }),
  ]);
  return {
    pid: child.pid ?? 0,
    runs: (verb, args) => call('runs', verb, args) as never,
    tasks: (verb, args) => call('tasks', verb, args) as never,
    questions: (verb, args) => call('questions', verb, args) as never,
    append: (events) => call('ledger', 'append', events),
    backfill: () => call('reconciler', 'backfill', null),
    recover: (directory, die) => call('journals', 'recover', { directory, die }),
    write: (directory, entry, die) => call('journals', 'write', { directory, entry, die }),
    signal: (name) => child.kill(name),
    gone,
  };
}
