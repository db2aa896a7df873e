import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { filledStore } from '../support/cli-store.ts';
import { countFigures } from '../support/figures.ts';
import { mutated } from '../support/mutate.ts';
import { seededRandom } from '../support/root-random.ts';

const COUNT = process.env['CUSTODY_TEST_LONG'] === undefined ? 24 : 300;

const LINES: readonly [string, ...string[]] = [
  'audit t-1 --check',
  'verify --rebuild',
  'event list --after 3 --task t-1 --type run.started --limit 10',
  'inspect run run-1',
  'explain t-1',
  'task get t-1 --effective',
  'task list --stale',
  'stats',
];

test('P14: hostile arguments in real processes end with one of the five exit codes and an answer, and change no byte', async () => {
  const bench = await filledStore();
  const before = readFileSync(bench.path('.custody/custody.db'));
  for (let round = 0; round < COUNT; round += 1) {
    const random = seededRandom(round * 31 + 7);
    const text = mutated(random, random.pick(LINES), random.pick(LINES)).toString('utf8');
    const args = text.split(' ').map((arg) => arg.replaceAll('\u0000', '').slice(0, 4096));
    const { code, signal, stdout, stderr } = await bench.run(['--json', ...args]);
    expect({ args, signal, isExit: [0, 1, 2, 3, 4].includes(code ?? -1) }).toEqual({
      args,
      signal: null,
      isExit: true,
    });
    expect(`${stdout}${stderr}`).not.toContain('"internal"');
    expect(stderr).not.toMatch(/^ {4}at /m);
  }
  countFigures('hostile inputs', [['commands in processes', COUNT]]);
  expect(readFileSync(bench.path('.custody/custody.db')).equals(before)).toBe(true);
});
