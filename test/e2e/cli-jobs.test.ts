import { expect, test } from 'vitest';
import { cliBench, shaped, toLines } from '../support/cli.ts';
import { CLI_SCHEMAS } from '../support/cli-schemas.ts';
import { filledStore } from '../support/cli-store.ts';

test('init makes the store once and says so', async () => {
  const bench = cliBench();

  const first = shaped(CLI_SCHEMAS.init, (await bench.json(['init'])).value);
  const second = shaped(CLI_SCHEMAS.init, (await bench.json(['init'])).value);

  expect(first).toMatchObject({ store: 'sqlite:.custody/custody.db', created: true });
  expect(second).toEqual({ ...first, created: false });
});

test('the store comes from -s, else from CUSTODY_STORE, else from the default', async () => {
  const bench = cliBench();
  const env = { CUSTODY_STORE: 'sqlite:from-env.db' };

  const byEnv = shaped(CLI_SCHEMAS.init, (await bench.json(['init'], { env })).value);
  const byOption = shaped(
    CLI_SCHEMAS.init,
    (await bench.json(['init', '-s', 'sqlite:from-option.db'], { env })).value,
  );

  expect(byEnv.store).toBe('sqlite:from-env.db');
  expect(byOption.store).toBe('sqlite:from-option.db');
});

test('backfill heals the rows that lie, once', async () => {
  const bench = await filledStore();

  const first = shaped(CLI_SCHEMAS.backfill, (await bench.json(['backfill'])).value);
  const second = shaped(CLI_SCHEMAS.backfill, (await bench.json(['backfill'])).value);

  expect(first).toMatchObject({ trigger: 'boot_backfill', refreshed: ['t-1'], failed: [] });
  expect(second.refreshed).toEqual([]);
  expect((await bench.json(['task', 'get', 't-1'])).value).toMatchObject({
    delegated_runs_unreconciled: ['run-2', 'invocation:inv-1', 'patch:run-1'],
    actual_substrate: 'harness_used',
    delegated_runs_settled: 0,
    reason_code: 'provider_unavailable',
  });
});

test('sweep heals what settled since the last one and defers tasks that have not ended', async () => {
  const bench = await filledStore();
  await bench.run(['event', 'append'], {
    stdin: toLines(
      { type: 'run.started', task_id: 't-2', run_id: 'run-9' },
      { type: 'run.settled', run_id: 'run-9', state: 'failed' },
    ),
  });

  const first = shaped(CLI_SCHEMAS.sweep, (await bench.json(['sweep', '--live', 't-2'])).value);
  const second = shaped(CLI_SCHEMAS.sweep, (await bench.json(['sweep'])).value);

  expect(first).toMatchObject({
    trigger: 'sweep_refresh',
    events_scanned: 7,
    refreshed: ['t-1'],
    deferred: ['t-2'],
  });
  expect(second).toMatchObject({ refreshed: [], deferred: ['t-2'] });
});

test('clear heals one row', async () => {
  const bench = await filledStore();

  const first = shaped(CLI_SCHEMAS.clear, (await bench.json(['clear', 't-1'])).value);
  const second = shaped(CLI_SCHEMAS.clear, (await bench.json(['clear', 't-1'])).value);
  const unknown = await bench.json(['clear', 'nobody']);

  expect(first).toEqual({ trigger: 'kill_path_clear', task_id: 't-1', refreshed: true, failed: [] });
  expect(second.refreshed).toBe(false);
  expect(unknown).toEqual({
    code: 0,
    value: { trigger: 'kill_path_clear', task_id: 'nobody', refreshed: false, failed: [] },
  });
});

test.for([['backfill'], ['sweep'], ['clear', 't-1']] as const)(
  '%s --dry-run writes nothing, and --plan applies exactly that or refuses',
  async (command) => {
    const bench = await filledStore();
    const rowBefore = (await bench.run(['task', 'get', 't-1', '--json'])).stdout;
    const schema = CLI_SCHEMAS[command[0]];

    const dry = shaped(schema, (await bench.json([...command, '--dry-run'])).value);

    expect(dry.plan).toMatchObject([
      {
        task_id: 't-1',
        before: { delegated_runs_unreconciled: ['run-1', 'run-2'] },
        after: { delegated_runs_unreconciled: ['run-2', 'invocation:inv-1', 'patch:run-1'] },
      },
    ]);
    expect(dry.plan?.[0]?.because).not.toEqual([]);
    expect((await bench.run(['task', 'get', 't-1', '--json'])).stdout).toBe(rowBefore);
    expect(await bench.lines(['event', 'list'])).toHaveLength(5);

    const refused = await bench.json([...command, '--plan', 'f'.repeat(64)]);
    expect(refused).toMatchObject({
      code: 1,
      value: { outcome: 'refused', reason: 'plan_changed', plan_hash: dry.plan_hash },
    });
    expect((await bench.run(['task', 'get', 't-1', '--json'])).stdout).toBe(rowBefore);

    const applied = await bench.json([...command, '--plan', String(dry.plan_hash)]);
    expect(applied.code).toBe(0);
    expect(shaped(schema, applied.value).refreshed).toEqual(dry.refreshed);
    expect((await bench.run(['task', 'get', 't-1', '--json'])).stdout).not.toBe(rowBefore);
  },
);

test('reconcile --once prints one line for the backfill and one for the sweep', async () => {
  const bench = await filledStore();

  const lines = (await bench.lines(['reconcile', '--once'])).map((line) =>
    shaped(CLI_SCHEMAS.reconcile, line),
  );

  expect(lines.map((line) => line.trigger)).toEqual(['boot_backfill', 'sweep_refresh']);
  expect(lines[0]?.refreshed).toEqual(['t-1']);
});
