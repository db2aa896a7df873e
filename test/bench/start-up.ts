import { spawnSync } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { openLedger } from '@custody/ledger';
import type { Comparison } from './round.ts';
import { timed } from './round.ts';
import { eventsFrom, freshFile } from './workload.ts';

const BIN = fileURLToPath(new URL('../../../../packages/cli/bin/custody.js', import.meta.url));

const NOTE = 'whole processes, one after the other';

function times(count: number, args: readonly string[]): Promise<number> {
  return timed(() => {
    for (let run = 0; run < count; run += 1) {
      const { status, stderr } = spawnSync(process.execPath, args, { encoding: 'utf8' });
      if (status !== 0) throw new Error(`${args.join(' ')}: ${stderr}`);
    }
  });
}

/** What the command costs before it does anything, against an empty program. */
export function startUp(count: number): Comparison {
  return {
    name: 'custody --version',
    units: count,
    unit: 'starts',
    atLeast: 0.5,
    durability: '-',
    note: NOTE,
    ours: { name: 'custody --version', run: () => times(count, [BIN, '--version']) },
    bound: { name: 'node -e 0', run: () => times(count, ['-e', '0']) },
  };
}

/** An audit of one task in a large store, against an empty program and 100 ms more. */
export function auditOfOneTask(
  directory: string,
  { count, events }: { count: number; events: number },
): Comparison {
  let file: string | null = null;
  return {
    name: `audit of one task among ${events} events`,
    units: count,
    unit: 'starts',
    atLeast: 1,
    durability: '-',
    note: `${NOTE}; the bound is an empty program and 100 ms more`,
    ours: {
      name: 'custody audit',
      run: async () => {
        file ??= await storeOf(directory, events);
        return times(count, [BIN, '-s', `sqlite:${file}`, 'audit', 'task-7']);
      },
    },
    bound: {
      name: 'node -e 0 + 100 ms',
      run: async () => (await times(count, ['-e', '0'])) + 100 * count,
    },
  };
}

async function storeOf(directory: string, events: number): Promise<string> {
  const file = freshFile(directory, 'audit');
  const ledger = await openLedger(`sqlite:${file}`);
  for (let start = 0; start < events; start += 5000) await ledger.append(eventsFrom(start, 5000));
  await ledger.close();
  return file;
}
