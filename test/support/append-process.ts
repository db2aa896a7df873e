import type { ChildProcessByStdio } from 'node:child_process';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import type { Readable, Writable } from 'node:stream';
import { fileURLToPath } from 'node:url';

const WORKER = fileURLToPath(new URL('./append-worker.mjs', import.meta.url));

/** A process of its own that appends to a ledger. */
export interface AppendProcess {
  /** Resolves when the ledger is open. */
  readonly ready: Promise<void>;
  /** Every append that was acknowledged so far: its event's id and seq. */
  readonly acknowledged: ReadonlyMap<string, number>;
  go(): void;
  /** Resolves once as many appends were acknowledged. */
  reached(count: number): Promise<void>;
  /** Ends the process as a power cut would: it can't clean up. */
  kill(): Promise<void>;
  /** The exit code, once it ended by itself; throws what it said if it failed. */
  readonly ended: Promise<void>;
}

/** Starts a process that appends `events` events (0 = until killed), `width` of them at the same time. */
export function startAppending(
  url: string,
  name: string,
  { events, width }: { events: number; width: number },
): AppendProcess {
  const child = spawn(process.execPath, [WORKER, url, name, String(events), String(width)], {
    stdio: ['pipe', 'pipe', 'pipe'],
  });
  return follow(child);
}

function follow(child: ChildProcessByStdio<Writable, Readable, Readable>): AppendProcess {
  const acknowledged = new Map<string, number>();
  const waiting: { readonly count: number; readonly resolve: () => void }[] = [];
  let complaint = '';
  let markReady: () => void = () => undefined;
  const ready = new Promise<void>((resolve) => {
    markReady = resolve;
  });
  const closed = once(child, 'close');
  child.stderr.on('data', (chunk: Buffer) => {
    complaint += chunk.toString();
  });
  createInterface({ input: child.stdout }).on('line', (line) => {
    if (line === 'ready') markReady();
    const match = /^(\S+) (\d+)$/.exec(line);
    if (match !== null) acknowledged.set(String(match[1]), Number(match[2]));
    for (const item of waiting) if (acknowledged.size >= item.count) item.resolve();
  });
  const failed = closed.then(([code]) => {
    if (code !== 0) throw new Error(`the process ended with ${String(code)}: ${complaint}`);
  });
  // Whoever waits for the process hears of its failure; a killed one is nobody's surprise.
  failed.catch(() => undefined);
  return {
    ready: Promise.race([ready, failed]),
    acknowledged,
    go: () => child.stdin.write('go\n'),
    reached: (count) =>
      Promise.race([
        failed,
        new Promise<void>((resolve) => {
          if (acknowledged.size >= count) resolve();
          else waiting.push({ count, resolve });
        }),
      ]),
    kill: async () => {
      child.kill('SIGKILL');
      await closed;
    },
    ended: failed,
  };
}
