import { evidenceOf, openRunIds, terminalReceipts, undisposedPatchRunIds } from '@custody/ledger';
import { describe, expect, it } from 'vitest';
import { event, settled, started } from '../../support/events.ts';
import { custodyOf, foldOf, runOf } from '../../support/fold.ts';

describe('a start', () => {
  it('is the only thing that makes a record: other rows of an unknown run leave none', () => {
    const fold = foldOf([
      event('output.spilled', { run_id: 'run-1', task_id: 't-1', staged: true, artifact: 'a' }),
      event('patch.disposed', { run_id: 'run-1', task_id: 't-1', disposition: 'applied' }),
      event('patch.captured', { task_id: 't-1' }),
      event('run.exploded', { run_id: 'run-1', task_id: 't-1' }),
    ]);

    expect(fold.runs.size).toBe(0);
  });

  it('gets its defaults for source and category, and keeps what the row says', () => {
    const run = runOf([started('run-1', 't-1', { model: 'claude-x', profile_id: 'p', effort: '' })], 'run-1');

    expect(run).toMatchObject({
      started: true,
      first_seq: 1,
      role: 'delegate',
      task_id: 't-1',
      facts: {
        route: 'claude',
        model: 'claude-x',
        category: 'subagent',
        source: 'delegated_subagent',
        effort: '',
      },
    });
    expect(run.facts['processing_preference']).toBeNull();
  });

  it('takes a number where text belongs for nothing', () => {
    const run = runOf([{ ...started('run-1', 't-1'), task_id: 17, model: 5, snapshot_id: true }], 'run-1');

    expect(run).toMatchObject({ task_id: '', snapshot_id: '', facts: { model: '' } });
  });
});

describe('a repeated start', () => {
  it('F1: keeps a persistent project persistent', () => {
    const run = runOf(
      [
        started('run-1', 't-1', { project_persistent: true }),
        started('run-1', 't-1', { project_persistent: false }),
      ],
      'run-1',
    );

    expect(run.project_persistent).toBe(true);
  });

  it('V1: keeps everything of a settled run, its verdict too', () => {
    const history = [
      started('run-1', 't-1', { snapshot_id: 's-1', project_id: 'p-1', project_owned: true }),
      event('output.spilled', {
        run_id: 'run-1',
        staged: true,
        artifact: 'out',
        full_content: true,
        sha256: 'x',
      }),
      event('output.consumed', { run_id: 'run-1', sha256: 'x', reader_task_id: 't-9' }),
      event('patch.captured', { run_id: 'run-1' }),
      settled('run-1', { outcome_reason: 'done' }),
      event('patch.disposed', { run_id: 'run-1', disposition: 'applied' }),
      event('project.retired', { run_id: 'run-1' }),
    ];
    const before = runOf(history, 'run-1');

    const after = runOf([...history, history[0] ?? {}], 'run-1');

    expect(after).toEqual(before);
    expect(before).toMatchObject({
      terminal_state: 'succeeded',
      patch_disposed: 'applied',
      project_owned: false,
    });
    const custody = custodyOf([...history, history[0] ?? {}], 't-1');
    expect(openRunIds(custody)).toEqual([]);
    expect(terminalReceipts(custody)).toMatchObject([{ run_id: 'run-1', state: 'succeeded' }]);
  });

  it('owns a project only while every row says so', () => {
    const owned = { project_id: 'p-1', project_owned: true };

    const run = runOf(
      [started('run-1', 't-1', owned), started('run-1', 't-1', { project_id: 'p-1' })],
      'run-1',
    );

    expect(run.project_owned).toBe(false);
  });

  it('lets the first text win for what a run was given, and the last for who it is', () => {
    const run = runOf(
      [
        started('run-1', 't-1', { baseline_sha: '', target_root: 'a', model: 'm-1', invocation_id: 'inv-1' }),
        started('run-1', 't-2', { baseline_sha: 'b', target_root: 'b', model: 'm-2', category: 'review' }),
      ],
      'run-1',
    );

    expect(run).toMatchObject({
      task_id: 't-2',
      facts: { baseline_sha: 'b', target_root: 'a', model: 'm-2', invocation_id: '', category: 'subagent' },
    });
  });

  it('lets the first given option win, an empty one too', () => {
    const run = runOf(
      [
        started('run-1', 't-1', { effort: '' }),
        started('run-1', 't-1', { effort: 'high', row_effort: 'low' }),
        started('run-1', 't-1', { row_effort: 'high' }),
      ],
      'run-1',
    );

    expect(run.facts).toMatchObject({ effort: '', row_effort: 'low' });
  });

  it('ruling 9: takes the whole shape from the first row with an access, an empty resource_ref too', () => {
    const copy = { workspace_kind: 'directory', strategy: 'copy' };

    const closed = runOf(
      [
        started('run-1', 't-1', { access: 'readonly', delegated: false }),
        started('run-1', 't-1', {
          access: 'workspace_write',
          mode: 'm',
          delegated: true,
          resource_ref: copy,
        }),
      ],
      'run-1',
    );
    const open = runOf(
      [
        started('run-1', 't-1', { mode: 'lost' }),
        started('run-1', 't-1', { resource_ref: copy }),
        started('run-1', 't-1', {
          access: 'workspace_write',
          mode: 'm',
          delegated: true,
          resource_ref: { other: 1 },
        }),
      ],
      'run-1',
    );

    expect(closed).toMatchObject({
      resource_ref: {},
      facts: { access: 'readonly', mode: '', delegated: false },
    });
    expect(open).toMatchObject({
      resource_ref: copy,
      facts: { access: 'workspace_write', mode: 'm', delegated: true },
    });
  });

  it('ruling 9: has its default source before the first text wins', () => {
    const run = runOf(
      [started('run-1', 't-1'), started('run-1', 't-1', { source: 'review_substrate_panel', category: 'x' })],
      'run-1',
    );

    expect(run.facts).toMatchObject({ source: 'delegated_subagent', category: 'subagent' });
  });

  it.each([
    ['the first one', [{ shape: { max_seconds: 90 } }, { shape: { max_seconds: 120 } }], 90],
    ['the first that is not zero', [{ shape: { max_seconds: 0 } }, { max_seconds: 120 }], 120],
    ['none', [{}, {}], 0],
  ])('F11: times a run by %s of its limits, and by its first start', (_case, rows, limit) => {
    const run = runOf(
      rows.map((fields) => started('run-1', 't-1', fields)),
      'run-1',
    );

    expect(run).toMatchObject({ max_seconds: limit, started_at: '2026-03-01T00:00:01.000Z' });
  });
});

describe('the end of a run', () => {
  it('V11, F16: before its start leaves no open run and no receipt, and settles the start', () => {
    const early = [settled('run-1', { task_id: 't-1' })];

    expect(custodyOf(early, 't-1').runs).toEqual([]);
    expect(evidenceOf(custodyOf(early, 't-1'))).toMatchObject({
      delegated_runs_started: 1,
      delegated_runs_settled: 1,
    });

    const whole = custodyOf([...early, started('run-1', 't-1', { snapshot_id: 's-1' })], 't-1');
    expect(openRunIds(whole)).toEqual([]);
    expect(terminalReceipts(whole)).toMatchObject([{ run_id: 'run-1', state: 'succeeded' }]);
    expect(undisposedPatchRunIds(whole)).toEqual(['run-1']);
  });

  it('ruling 6: remembers only ends and records from before the start, nothing else', () => {
    const run = runOf(
      [
        event('run.ledger_recorded', { run_id: 'run-1' }),
        event('patch.disposed', { run_id: 'run-1', disposition: 'applied' }),
        event('output.spilled', { run_id: 'run-1', staged: true, artifact: 'a', full_content: true }),
        event('project.retired', { run_id: 'run-1', project_id: 'p-1' }),
        event('containment.unconfined', { run_id: 'run-1' }),
        started('run-1', 't-1', { project_id: 'p-1', project_owned: true }),
      ],
      'run-1',
    );

    expect(run).toMatchObject({
      ledger_recorded: true,
      settled: false,
      patch_disposed: '',
      output_artifact: '',
      project_owned: true,
      containment_disclosed: false,
    });
  });

  it('F17: an absent run is closed without a receipt, and still owes its patch', () => {
    const custody = custodyOf(
      [
        started('run-1', 't-1', { snapshot_id: 's-1' }),
        event('run.closed_absent', { run_id: 'run-1', task_id: 't-1' }),
      ],
      't-1',
    );

    expect(openRunIds(custody)).toEqual([]);
    expect(terminalReceipts(custody)).toEqual([]);
    expect(undisposedPatchRunIds(custody)).toEqual(['run-1']);
    expect(custody.runs[0]).toMatchObject({ ledger_recorded: false, has_verdict: false });
    expect(evidenceOf(custody)).toMatchObject({
      delegated_runs_settled: 1,
      delegated_runs_failed: 1,
      delegated_run_failure_states: ['closed_absent'],
      subscription_cost_usd: null,
    });
  });

  it('V13: the first verdict decides; later different ones are counted and never applied', () => {
    const run = runOf(
      [
        started('run-1', 't-1'),
        settled('run-1', { state: 'failed', outcome_reason: 'first' }),
        settled('run-1', { state: 'succeeded', outcome_reason: 'second' }),
        settled('run-1', { state: 'failed' }),
        settled('run-1', { state: 'cancelled' }),
      ],
      'run-1',
    );

    expect(run).toMatchObject({
      terminal_state: 'failed',
      terminal_reason: 'first',
      conflicting_verdicts: 2,
    });
  });

  it.each([
    [
      'before',
      [event('run.closed_absent', { run_id: 'run-1', task_id: 't-1' }), settled('run-1', { task_id: 't-1' })],
    ],
    [
      'after',
      [settled('run-1', { task_id: 't-1' }), event('run.closed_absent', { run_id: 'run-1', task_id: 't-1' })],
    ],
  ])('V13: an absence %s the settle is no verdict', (_case, ends) => {
    const custody = custodyOf([started('run-1', 't-1'), ...ends], 't-1');

    expect(terminalReceipts(custody)).toMatchObject([{ state: 'succeeded' }]);
    expect(evidenceOf(custody)).toMatchObject({
      delegated_runs_succeeded: 1,
      delegated_runs_failed: 0,
      subscription_cost_usd: 1.25,
    });
  });

  it('V13: a settle without a state decides only until another has one', () => {
    const custody = custodyOf(
      [
        started('run-1', 't-1'),
        { ...settled('run-1', { task_id: 't-1', cost_usd: 9 }), state: '' },
        settled('run-1', { task_id: 't-1' }),
      ],
      't-1',
    );

    expect(terminalReceipts(custody)).toMatchObject([{ state: 'succeeded' }]);
    expect(evidenceOf(custody)).toMatchObject({ delegated_runs_succeeded: 1, subscription_cost_usd: 1.25 });
  });

  it('is no receipt in a state that is none of the four, but still the end', () => {
    const custody = custodyOf(
      [started('run-1', 't-1'), { ...settled('run-1', { task_id: 't-1' }), state: 'evaporated' }],
      't-1',
    );

    expect(openRunIds(custody)).toEqual([]);
    expect(terminalReceipts(custody)).toEqual([]);
    expect(evidenceOf(custody)).toMatchObject({ delegated_run_failure_states: ['evaporated'] });
  });

  it('orders receipts by run and takes their model from the start', () => {
    const custody = custodyOf(
      [
        started('run-b', 't-1', { model: 'of-start' }),
        started('run-a', 't-1'),
        settled('run-b'),
        settled('run-a'),
      ],
      't-1',
    );

    expect(terminalReceipts(custody)).toEqual([
      { run_id: 'run-a', state: 'succeeded', model: '', profile_id: '', selected_subagent_id: '' },
      { run_id: 'run-b', state: 'succeeded', model: 'of-start', profile_id: '', selected_subagent_id: '' },
    ]);
  });
});
