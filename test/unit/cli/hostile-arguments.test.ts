import { expect, test } from 'vitest';
import { isPlanned } from '../../../packages/cli/src/output/error-report.ts';
import { createProgram } from '../../../packages/cli/src/program.ts';
import { hostileRun } from '../../support/hostile-run.ts';
import { mutated } from '../../support/mutate.ts';

const LINES: readonly [string, ...string[]] = [
  'audit t-1 --check --as-of 12',
  'verify --rebuild --expect-head 12:0000000000000000000000000000000000000000000000000000000000000000',
  'verify --checkpoint c.json --public-key p.pem --rows r.jsonl',
  'event list --after 3 --task t-1 --type run.started --limit 10 --json',
  'reconcile --every 30s --once',
  'reconcile --cron * * * * *',
  'run claim --holder alice --ttl 15m --pid 12',
  'run complete --task t-1 --run r-1 --fence 12 --result done --summary s',
  'run submit --task t-1 --run r-1 --fence 9007199254740991 --key k --value v',
  'task create --id t-9 --title T --parent t-1 --parent t-2 --priority 3',
  'task decompose t-1 --child a=b --child c --assignee bob',
  'question answer q-1 --option yes --author me',
  'ledger checkpoint --key k.pem --out c.json --rows r.jsonl',
  'init --set CUSTODY_LEASE_TTL=15m -s sqlite:x.db',
  'sweep --live a,b,c --journal dir --plan 0000000000000000000000000000000000000000000000000000000000000000',
  'journal write --dir d --task t --run r --result x',
];

/** What commander says when the line is wrong. */
function isRefused(error: unknown): boolean {
  const code = error instanceof Error ? (error as { readonly code?: unknown }).code : null;
  return isPlanned(error) || (typeof code === 'string' && code.startsWith('commander.'));
}

test('P14: hostile arguments are understood or refused as wrong usage; no parser fails, hangs or runs twice', async () => {
  await hostileRun('arguments', { inputs: 20_000 }, async (random) => {
    const text = mutated(random, random.pick(LINES), random.pick(LINES)).toString('utf8');
    let runs = 0;
    const program = createProgram({
      version: '0',
      run: async () => {
        runs += 1;
      },
      writeOut: () => undefined,
      writeErr: () => undefined,
      columns: 80,
    });
    try {
      await program.parseAsync(text.split(' '), { from: 'user' });
      expect(runs).toBe(1);
      return 'understood';
    } catch (error) {
      if (!isRefused(error)) throw error;
      expect(runs).toBe(0);
      expect((error as Error).message.length).toBeLessThan(2 * text.length + 1000);
      return 'refused';
    }
  });
}, 1_800_000);
