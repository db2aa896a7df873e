import { existsSync, writeFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { cliBench, shaped } from '../support/cli.ts';
import { CLI_SCHEMAS } from '../support/cli-schemas.ts';

test('the demo heals rows that lied, leaves what is frozen, verifies, and its store says the same', async () => {
  const bench = cliBench();

  const { code, value } = await bench.json(['demo', '--dir', 'demo']);
  const report = shaped(CLI_SCHEMAS.demo, value);

  expect(code).toBe(0);
  expect(report.imported.rows_written).toBeGreaterThanOrEqual(200);
  expect(report.backfill.refreshed.length).toBeGreaterThan(50);
  expect(report.examples.length).toBeGreaterThanOrEqual(3);
  for (const example of report.examples) expect(example.after).not.toEqual(example.before);
  expect(report.frozen.compared).toBeGreaterThan(1000);
  expect(report.frozen.changed).toEqual([]);
  expect(report.frozen_example?.evidence_settled).toBeGreaterThan(
    report.frozen_example?.delegated_runs_settled ?? Number.NaN,
  );
  expect(report.second_backfill_refreshed).toBe(0);
  expect(report.sweep.refreshed).toEqual([report.late?.task_id]);
  expect(report.late).toMatchObject({ before: [report.late?.run_id], after: [] });

  const store = ['-s', 'sqlite:demo/custody.db'];
  expect((await bench.json([...store, 'verify', '--rebuild'])).value).toMatchObject(report.verify);
  expect((await bench.json([...store, 'stats'])).value).toMatchObject({
    events: report.verify.events,
    tasks: report.imported.rows_written,
  });
  expect((await bench.json([...store, 'backfill'])).value).toMatchObject({ refreshed: [] });
});

test('the demo for people fits two screens of 80 columns and says where its store is', async () => {
  const bench = cliBench();

  const { code, stdout, stderr } = await bench.run(['demo', '--dir', 'd']);

  const lines = stdout.trimEnd().split('\n');
  expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
  expect(lines.length).toBeLessThanOrEqual(48);
  expect(Math.max(...lines.map((line) => line.length))).toBeLessThanOrEqual(80);
  expect(stdout).toContain('sqlite:d/custody.db');
  expect(stdout).toMatch(/frozen fields compared, 0 changed/);
});

test('the demo never writes into a directory that is in use', async () => {
  const bench = cliBench();
  writeFileSync(bench.path('mine'), 'mine');

  expect(await bench.json(['demo', '--dir', '.'])).toMatchObject({
    code: 2,
    value: { error: { code: 'usage' } },
  });
  expect(await bench.json(['demo', '--dir', 'mine'])).toMatchObject({
    code: 2,
    value: { error: { code: 'usage' } },
  });
  expect(existsSync(bench.path('custody.db'))).toBe(false);
});
