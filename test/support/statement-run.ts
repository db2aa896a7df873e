import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { BEGAN, untilGone } from './statement-stores.ts';

const WORKER = fileURLToPath(new URL('./statement-worker.mjs', import.meta.url));

/** Far enough from the history for its leases to have run out. */
const NOW = Date.parse(BEGAN) + 3_600_000;

/** One call of a ledger or of what works on one. */
export interface Command {
  readonly target: 'ledger' | 'runs' | 'questions' | 'reconciler' | 'work';
  readonly verb: string;
  readonly args: readonly unknown[];
}

/** How a process that carried out a command ended. */
export interface CommandEnd {
  /** The instant at which it died; null: it lived. */
  readonly diedAt: string | null;
  /** Whether it had its answer. */
  readonly isAcknowledged: boolean;
  /** Every instant of its work, in order, if it was watched. */
  readonly instants: readonly string[];
}

/** How a command is carried out. */
export interface CarryOut {
  /** Where it dies, from 1. @default it lives */
  readonly dieAt?: number;
  /** Of the ids that it gives. */
  readonly prefix: 'work' | 'again';
  /** Hears of each commit; the process waits meanwhile, and names its instants. */
  readonly onCommit?: () => Promise<void>;
}

/** Carries out a command in a process of its own. */
export async function carryOut(
  url: string,
  command: Command,
  { dieAt = Number.MAX_SAFE_INTEGER, prefix, onCommit }: CarryOut,
): Promise<CommandEnd> {
  const limit = onCommit === undefined ? dieAt : 0;
  const child = spawn(
    process.execPath,
    [WORKER, url, String(limit), prefix, String(NOW), JSON.stringify(command)],
    { stdio: ['pipe', 'pipe', 'pipe'] },
  );
  const closed = once(child, 'close');
  let complaint = '';
  child.stderr.on('data', (chunk: Buffer) => {
    complaint += chunk.toString();
  });
  const lines: string[] = [];
  for await (const line of createInterface({ input: child.stdout })) {
    lines.push(line);
    if (line !== 'at commit: after') continue;
    await onCommit?.();
    child.stdin.write('\n');
  }
  const [, signal] = (await closed) as [number | null, NodeJS.Signals | null];
  const after = (begin: string) => lines.find((line) => line.startsWith(begin))?.slice(begin.length) ?? null;
  const diedAt = after('died at ');
  if (
    complaint !== '' ||
    (diedAt === null) !== (after('done') !== null) ||
    (diedAt !== null && signal === null)
  )
    throw new Error(`${command.verb} ended with ${String(signal)}: ${complaint}${lines.join('\n')}`);
  await untilGone(JSON.parse(after('backends ') ?? '[]') as number[]);
  return {
    diedAt,
    isAcknowledged: after('ack ') !== null,
    instants: lines.filter((line) => line.startsWith('at ')).map((line) => line.slice('at '.length)),
  };
}
