import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { cliBench, shaped, toLines } from '../support/cli.ts';
import { CLI_SCHEMAS } from '../support/cli-schemas.ts';
import { filledStore } from '../support/cli-store.ts';

test('audit lists the tasks that owe something, says whether their rows say so, and --check tells it by its exit code', async () => {
  const bench = await filledStore();

  const { code, value } = await bench.json(['audit', '--check']);
  const report = shaped(CLI_SCHEMAS.audit, value);

  expect(code).toBe(1);
  expect(report.tasks).toHaveLength(1);
  expect(report.tasks[0]).toMatchObject({
    task_id: 't-1',
    status: 'failed',
    terminal: true,
    stored: ['run-1', 'run-2'],
    current: false,
    audit: { audit_status: 'ok', unreconciled: ['run-2', 'invocation:inv-1', 'patch:run-1'] },
  });
  expect(report.totals).toMatchObject({ open_runs: 1, pending_invocations: 1, undisposed_patches: 1 });
  expect((await bench.json(['audit'])).code).toBe(0);
  expect((await bench.json(['audit', 't-2', '--check'])).code).toBe(0);
  const all = shaped(CLI_SCHEMAS.audit, (await bench.json(['audit', '--all'])).value);
  expect(all.tasks.map((task) => task.task_id)).toEqual(['t-1', 't-2']);
});

test('explain names the events behind each field, what is frozen, and every heal', async () => {
  const bench = await filledStore();
  await bench.run(['backfill']);

  const { fields, healed } = shaped(CLI_SCHEMAS.explain, (await bench.json(['explain', 't-1'])).value);

  const byName = new Map(fields.map((field) => [field.field, field]));
  expect(byName.get('status')).toEqual({
    field: 'status',
    value: 'failed',
    frozen: true,
    current: true,
    because: [],
  });
  expect(byName.get('delegated_runs_settled')).toMatchObject({ value: 0, frozen: true });
  expect(byName.get('delegated_runs_unreconciled')).toMatchObject({
    value: ['run-2', 'invocation:inv-1', 'patch:run-1'],
    frozen: false,
    because: [
      { seq: 1, type: 'run.start_requested' },
      { seq: 3, type: 'run.started' },
      { seq: 4, type: 'run.settled' },
    ],
  });
  expect(byName.get('actual_substrate')).toMatchObject({
    value: 'harness_used',
    frozen: false,
    because: [{ seq: 2 }, { seq: 3 }, { seq: 4 }],
  });
  expect(byName.get('subagent_envelope.execution_evidence')).toMatchObject({
    frozen: false,
    value: { delegated_runs_settled: 1 },
  });
  expect(healed).toMatchObject([
    {
      seq: 6,
      trigger: 'boot_backfill',
      before: { delegated_runs_unreconciled: ['run-1', 'run-2'], actual_substrate: 'harness_attempted' },
      after: {
        delegated_runs_unreconciled: ['run-2', 'invocation:inv-1', 'patch:run-1'],
        actual_substrate: 'harness_used',
      },
    },
  ]);
});

test('inspect task shows the row, the debts by kind, and everything recorded of it', async () => {
  const bench = await filledStore();

  const report = shaped(CLI_SCHEMAS['inspect task'], (await bench.json(['inspect', 'task', 't-1'])).value);

  expect(report.row).toMatchObject({ task_id: 't-1', status: 'failed' });
  expect(report.obligations).toMatchObject({
    open_run_ids: ['run-2'],
    pending_invocation_ids: ['inv-1'],
    undisposed_patch_run_ids: ['run-1'],
  });
  expect(report.timeline.map((entry) => entry.seq)).toEqual([1, 2, 3, 4]);
  expect(report.timeline[3]).toMatchObject({
    type: 'run.settled',
    summary: 'state succeeded, cost_usd 1.25',
  });
});

test('inspect run shows the record, its debts, and everything recorded of it', async () => {
  const bench = await filledStore();

  const report = shaped(CLI_SCHEMAS['inspect run'], (await bench.json(['inspect', 'run', 'run-1'])).value);

  expect(report).toMatchObject({
    run_id: 'run-1',
    task_id: 't-1',
    settled: true,
    terminal_state: 'succeeded',
    obligations: { open: false, patch_owed: true },
  });
  expect(report.timeline.map((entry) => entry.seq)).toEqual([2, 4]);
});

test('handoff prints what a model is told, with the lists cut and their source named', async () => {
  const bench = cliBench();
  const list = Array.from({ length: 12 }, (_, index) => `run-${index}`);
  await bench.run(['task', 'put'], {
    stdin: toLines(
      { task_id: 't-retry', original_task_id: 't-orig', status: 'failed', delegated_runs_unreconciled: list },
      { task_id: 't-clean', status: 'failed' },
    ),
  });

  const { delegated_custody: summary } = shaped(
    CLI_SCHEMAS.handoff,
    (await bench.json(['handoff', 't-retry'])).value,
  );

  expect(summary).toEqual({
    unreconciled: list.slice(0, 10),
    unreconciled_omitted: 2,
    full_source: [
      "read_file(root='runtime_data', path='task_results/t-retry.json')",
      "read_file(root='runtime_data', path='task_results/t-orig.json')",
    ],
  });
  expect(await bench.json(['handoff', 't-clean'])).toEqual({ code: 0, value: {} });
});

test('stats counts', async () => {
  const bench = await filledStore();
  await bench.run(['backfill']);

  const report = shaped(CLI_SCHEMAS.stats, (await bench.json(['stats'])).value);

  expect(report).toMatchObject({
    events: 6,
    tasks: 2,
    runs: 2,
    open_runs: 1,
    pending_invocations: 1,
    undisposed_patches: 1,
    last_pass: { backfill: { refreshed: 1 } },
  });
});

test('verify proves the log, also against a replay, and finds a head noted earlier', async () => {
  const bench = await filledStore();

  const report = shaped(CLI_SCHEMAS.verify, (await bench.json(['verify'])).value);
  await bench.run(['backfill']);
  const rebuilt = await bench.json([
    'verify',
    '--rebuild',
    '--expect-head',
    `${report.head_seq}:${report.head_hash}`,
  ]);
  const wrong = await bench.json(['verify', '--expect-head', `${report.head_seq}:${'0'.repeat(64)}`]);
  const cut = await bench.json(['verify', '--expect-head', `99:${'0'.repeat(64)}`]);

  expect(report).toMatchObject({ ok: true, events: 5, head_seq: 5, problems: [] });
  expect(rebuilt.code).toBe(0);
  expect(shaped(CLI_SCHEMAS.verify, rebuilt.value)).toMatchObject({ ok: true, events: 6 });
  expect(wrong).toMatchObject({
    code: 1,
    value: { ok: false, problems: [{ code: 'head_not_in_chain', seq: 5 }] },
  });
  expect(cut).toMatchObject({ code: 1, value: { ok: false, problems: [{ code: 'truncated' }] } });
});

test('without --json results are text for people: no JSON, no colours outside of a terminal, at most 80 columns', async () => {
  const bench = await filledStore();
  await bench.run(['backfill']);

  for (const args of [
    ['audit'],
    ['stats'],
    ['explain', 't-1'],
    ['event', 'list'],
    ['task', 'list'],
    ['verify'],
  ]) {
    const { stdout, code } = await bench.run(args, { env: { CI: '1' } });
    expect(code).toBe(0);
    expect(stdout).not.toContain('\u001b[');
    expect(stdout).not.toMatch(/^[{[]/);
  }
  const { stdout } = await bench.run(['audit']);
  expect(Math.max(...stdout.split('\n').map((line) => line.length))).toBeLessThanOrEqual(80);
  expect((await bench.run(['audit'], { env: { FORCE_COLOR: '1' } })).stdout).toContain('\u001b[');
  expect((await bench.run(['audit'], { env: { FORCE_COLOR: '1', NO_COLOR: '1' } })).stdout).not.toContain(
    '\u001b[',
  );
});

test('every result is on stdout and nothing else is', async () => {
  const bench = await filledStore();

  for (const args of [['audit'], ['stats'], ['verify'], ['task', 'list'], ['event', 'list']]) {
    const { stdout, stderr } = await bench.run(['--json', ...args]);
    expect(stderr).toBe('');
    expect(stdout).not.toBe('');
  }
});

test('--version is that of the package', async () => {
  const manifest = JSON.parse(
    readFileSync(new URL('../../packages/cli/package.json', import.meta.url), 'utf8'),
  ) as { version: string };

  expect(await cliBench().run(['--version'])).toMatchObject({
    code: 0,
    stdout: `${manifest.version}\n`,
    stderr: '',
  });
});
