import type { JsonObject } from '@custody/ledger';
import { expect, test } from 'vitest';
import { cliBench } from '../support/cli.ts';
import { CLI_SCHEMAS } from '../support/cli-schemas.ts';

test('a simulation says what it did, and the same seed does the same again', async () => {
  const bench = cliBench();
  const args = ['simulate', '--seed', '7', '--steps', '60'];

  const first = await bench.json(args);
  const second = await bench.json(args);

  const report = CLI_SCHEMAS.simulate.parse(first.value);
  expect(first.code).toBe(0);
  expect(report).toMatchObject({ seed: 7, steps: 60, on: 'memory', ok: true, failure: null });
  expect(report.faults.reduce((sum, { count }) => sum + count, 0)).toBeGreaterThan(3);
  expect(report.checks.find(({ promise }) => promise === 'P4')?.count).toBeGreaterThan(0);
  expect((second.value as JsonObject)['trace_hash']).toBe(report.trace_hash);
});

test.each(['sqlite', 'jsonl'])(
  'a simulation on %s says where it was played, and how to play it again',
  async (on) => {
    const bench = cliBench();

    const { code, stdout, stderr } = await bench.run(['simulate', '--steps', '25', '--on', on]);

    expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
    expect(stdout).toContain(`ok: seed 1, 25 steps on ${on}`);
    expect(stdout).toContain(`repeat: custody simulate --seed 1 --steps 25 --on ${on}`);
  },
);

test('a store that nobody can simulate on, and a seed that is none, are wrong usage', async () => {
  const bench = cliBench();

  expect(await bench.json(['simulate', '--on', 'paper'])).toMatchObject({ code: 2 });
  expect(await bench.json(['simulate', '--seed', 'x'])).toMatchObject({
    code: 2,
    value: { error: { code: 'usage', option: '--seed', value: 'x' } },
  });
});
