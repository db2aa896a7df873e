import { appendFileSync, mkdirSync, readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { foldLog, openLedger } from '@custody/ledger';
import type { Comparison } from './round.ts';
import { timed } from './round.ts';

/** A log of so many custody lines with, for each of them, `noise` lines of other subsystems. */
interface Log {
  readonly events: number;
  readonly noise: number;
}

/** The fold of a log in memory, against reading the log and parsing every line. */
export function coldFold(directory: string, log: Log): Comparison {
  const { file, root, lines } = writeLog(directory, log);
  return {
    name: `fold of a log, ${shareOf(log)} noise`,
    units: lines,
    unit: 'lines',
    atLeast: log.noise === 0 ? 1 : 4,
    durability: 'reads only',
    note: 'ours ends with the custody of every run and task in memory; the bound parses every line and keeps nothing',
    ours: {
      name: 'custody',
      run: () =>
        timed(() => {
          if (foldLog(root).events !== log.events) throw new Error('the fold lost events');
        }),
    },
    bound: { name: 'readFile + JSON.parse', run: () => parseEach(file) },
    close: async () => rmSync(root, { recursive: true }),
  };
}

/** What a user waits for when the index of a log is missing, against reading the log and parsing every line. */
export function coldIndex(directory: string, log: Log): Comparison {
  const { file, root, lines } = writeLog(directory, log);
  return {
    name: `first boot on a log without an index, ${shareOf(log)} noise`,
    units: lines,
    unit: 'lines',
    atLeast: null,
    durability: 'index: WAL, synchronous=NORMAL (it is rebuilt when in doubt)',
    note: 'ours also hashes every line and writes the index, once in the life of a log',
    ours: {
      name: 'custody',
      run: async () => {
        rmSync(join(root, 'state'), { recursive: true, force: true });
        return boot(root);
      },
    },
    bound: { name: 'readFile + JSON.parse', run: () => parseEach(file) },
    close: async () => rmSync(root, { recursive: true }),
  };
}

/** What a user waits for when the index is there, against reading the log and parsing every line. */
export function warmBoot(directory: string, log: Log): Comparison {
  const { file, root, lines } = writeLog(directory, log);
  let isBuilt = false;
  return {
    name: 'boot on a log with its index',
    units: lines,
    unit: 'lines',
    atLeast: null,
    durability: 'reads only',
    note: 'opens, compares the index with the log, counts the debts, closes',
    ours: {
      name: 'custody',
      run: async () => {
        if (!isBuilt) await boot(root);
        isBuilt = true;
        return boot(root);
      },
    },
    bound: { name: 'readFile + JSON.parse', run: () => parseEach(file) },
    close: async () => rmSync(root, { recursive: true }),
  };
}

function boot(root: string): Promise<number> {
  return timed(async () => {
    const ledger = await openLedger(`jsonl:${root}`);
    await ledger.custody.openRuns();
    await ledger.close();
  });
}

function parseEach(file: string): Promise<number> {
  return timed(() => {
    for (const line of readFileSync(file, 'utf8').split('\n')) if (line !== '') JSON.parse(line);
  });
}

function shareOf({ noise }: Log): string {
  return noise === 0 ? 'no' : `${Math.round((noise / (1 + noise)) * 100)} %`;
}

let roots = 0;

function writeLog(
  directory: string,
  { events, noise }: Log,
): { readonly file: string; readonly root: string; readonly lines: number } {
  roots += 1;
  const root = join(directory, `root-${roots}`);
  const file = join(root, 'logs', 'events.jsonl');
  mkdirSync(join(root, 'logs'), { recursive: true });
  let text = '';
  for (let index = 0; index < events; index += 1) {
    text += custodyLine(index);
    for (let other = 0; other < noise; other += 1) text += noiseLine(index, other);
    if (text.length < 4_000_000) continue;
    appendFileSync(file, text);
    text = '';
  }
  appendFileSync(file, text);
  return { file, root, lines: events * (1 + noise) };
}

/** A line of a run that starts or settles, with its newline. */
function custodyLine(index: number): string {
  const ts = timeAt(index);
  const run = { run_id: `run-${index >> 1}`, task_id: `task-${index >> 3}` };
  const row =
    index % 2 === 0
      ? { ts, type: 'delegate_run_started', ...run, route: 'route-a', model: 'model-a' }
      : {
          ts,
          type: 'delegate_run_settled',
          ...run,
          state: 'succeeded',
          cost_usd: 0.25,
          spend_disclosed: true,
        };
  return `${JSON.stringify(row)}\n`;
}

function noiseLine(index: number, other: number): string {
  const usage = { prompt_tokens: 1000 + other, completion_tokens: 50, note: 'a line of another subsystem' };
  return `${JSON.stringify({ ts: timeAt(index), type: 'llm_usage', task_id: `task-${index >> 3}`, usage })}\n`;
}

function timeAt(index: number): string {
  return new Date(Date.UTC(2026, 2, 1) + index * 1000).toISOString();
}
