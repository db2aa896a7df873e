import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { onTestFinished } from 'vitest';

const WORKER = fileURLToPath(new URL('./load-worker.mjs', import.meta.url));

/** What a client of a served ledger was told. */
interface Acknowledged {
  /** Texts of records by their ids. */
  readonly records: Map<string, string>;
  readonly events: string[];
  /** Stored values by the keys of their submits. */
  readonly submits: Map<string, unknown>;
  readonly completed: string[];
  /** How often something was made again, by why. */
  readonly again: Map<string, number>;
  /** Answers that no client should get. */
  readonly faults: string[];
}

/** A client that writes in a process of its own. */
export interface LoadProcess {
  readonly acknowledged: Acknowledged;
  /** Lets it finish what it has begun, and returns when it has. */
  stop(): Promise<void>;
}

type Line = Readonly<Record<string, unknown>>;

/** Starts a client that writes through a proxy; it ends with the test. */
export async function startLoad(proxyUrl: string, name: string): Promise<LoadProcess> {
  const child = spawn(process.execPath, [WORKER, proxyUrl, name], { stdio: ['pipe', 'pipe', 'inherit'] });
  const gone = once(child, 'close') as Promise<[number | null]>;
  onTestFinished(async () => {
    child.kill('SIGKILL');
    await gone;
  });
  const acknowledged: Acknowledged = {
    records: new Map(),
    events: [],
    submits: new Map(),
    completed: [],
    again: new Map(),
    faults: [],
  };
  const lines = createInterface({ input: child.stdout });
  const ready = once(lines, 'line');
  lines.on('line', (line) => note(acknowledged, JSON.parse(line) as Line));
  await Promise.race([
    ready,
    gone.then(() => {
      throw new Error('the client ended before it was ready');
    }),
  ]);
  return {
    acknowledged,
    stop: async () => {
      child.stdin.write('stop\n');
      const [code] = await gone;
      if (code !== 0) acknowledged.faults.push(`the client ended with ${code}`);
    },
  };
}

function note({ records, events, submits, completed, again, faults }: Acknowledged, line: Line): void {
  if (line['record'] !== undefined) records.set(String(line['record']), String(line['text']));
  else if (line['event'] !== undefined) events.push(String(line['event']));
  else if (line['key'] !== undefined) submits.set(String(line['key']), line['value']);
  else if (line['completed'] !== undefined) completed.push(String(line['completed']));
  else if (line['again'] !== undefined)
    again.set(String(line['again']), (again.get(String(line['again'])) ?? 0) + 1);
  else if (line['fault'] !== undefined) faults.push(String(line['fault']));
}
