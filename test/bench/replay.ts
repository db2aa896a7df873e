import { appendFileSync, mkdirSync, readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { openLedger } from '@custody/ledger';
import type { Comparison } from './round.ts';
import { timed } from './round.ts';

/** Writes a log of custody lines and, for each of them, `noise` lines of other subsystems. */
function writeLog(
  root: string,
  { events, noise }: { readonly events: number; readonly noise: number },
): string {
  const file = join(root, 'logs', 'events.jsonl');
  mkdirSync(join(root, 'logs'), { recursive: true });
  let text = '';
  for (let index = 0; index < events; index += 1) {
    const at = new Date(Date.UTC(2026, 2, 1) + index * 1000).toISOString();
    const run = { run_id: `run-${index >> 1}`, task_id: `task-${index >> 3}` };
    const line =
      index % 2 === 0
        ? { ts: at, type: 'delegate_run_started', ...run, route: 'route-a', model: 'model-a' }
        : {
            ts: at,
            type: 'delegate_run_settled',
            ...run,
            state: 'succeeded',
            cost_usd: 0.25,
            spend_disclosed: true,
          };
    text += `${JSON.stringify(line)}\n`;
    for (let other = 0; other < noise; other += 1) {
      text += `${JSON.stringify({ ts: at, type: 'llm_usage', task_id: run.task_id, usage: { prompt_tokens: 1000 + other, completion_tokens: 50, note: 'a line of another subsystem' } })}\n`;
    }
    if (text.length > 4_000_000) {
      appendFileSync(file, text);
      text = '';
    }
  }
  appendFileSync(file, text);
  return file;
}

/** A cold open of a JSONL root, fold and index included, against reading the log and parsing every line. */
export function coldReplay(
  directory: string,
  log: { readonly events: number; readonly noise: number },
): Comparison {
  const root = join(directory, `replay-${log.events}-${log.noise}`);
  const file = writeLog(root, log);
  const lines = log.events * (1 + log.noise);
  return {
    name: `cold fold of a log, ${log.noise === 0 ? 'no noise' : `${Math.round((log.noise / (1 + log.noise)) * 100)} % noise`}`,
    units: lines,
    unit: 'lines',
    atLeast: log.noise === 0 ? 1 : 4,
    note: 'ours also hashes the lines and builds the index on disk',
    ours: {
      name: 'custody jsonl, no index yet',
      run: async () => {
        rmSync(join(root, 'state'), { recursive: true, force: true });
        return timed(async () => {
          const ledger = await openLedger(`jsonl:${root}`);
          await ledger.custody.totals();
          await ledger.close();
        });
      },
    },
    bound: {
      name: 'readFile + JSON.parse',
      run: () =>
        timed(() => {
          for (const line of readFileSync(file, 'utf8').split('\n')) if (line !== '') JSON.parse(line);
        }),
    },
  };
}
