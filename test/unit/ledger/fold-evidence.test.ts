import type { JsonObject } from '@custody/ledger';
import { evidenceOf, substrateOf } from '@custody/ledger';
import { describe, expect, it } from 'vitest';
import { event, requested, settled, started } from '../../support/events.ts';
import { custodyOf } from '../../support/fold.ts';

const end = (runId: string, more: JsonObject = {}) => settled(runId, { task_id: 't-1', ...more });

function evidence(events: readonly JsonObject[], taskId = 't-1') {
  return evidenceOf(custodyOf(events, taskId));
}

describe('the evidence of a task', () => {
  it('is empty where nothing was delegated', () => {
    expect(evidence([])).toEqual({
      delegated_runs_started: 0,
      delegated_runs_settled: 0,
      delegated_runs_succeeded: 0,
      delegated_runs_failed: 0,
      delegated_runs_source_unresolved: 0,
      delegated_run_failure_states: [],
      subscription_cost_usd: null,
      subscription_cost_estimated: false,
      harness_models: [],
      applied_access_profiles: [],
      evidence_read_failed: false,
      nanny_nudge_recorded: false,
      delegate_start_attempted: false,
    });
    expect(substrateOf(evidence([]))).toBe('native_only');
  });

  it('ruling 3: counts the rows that name the task, wherever their run belongs', () => {
    const history = [started('run-1', 't-owner'), settled('run-1', { task_id: 't-1' })];

    expect(evidence(history, 't-1')).toMatchObject({ delegated_runs_started: 1, delegated_runs_settled: 1 });
    expect(evidence(history, 't-owner')).toMatchObject({
      delegated_runs_started: 1,
      delegated_runs_settled: 0,
    });
  });

  it('counts what started or settled, succeeded and failed, each run once', () => {
    const counted = evidence([
      started('run-1', 't-1'),
      started('run-1', 't-1'),
      end('run-1'),
      end('run-1'),
      started('run-2', 't-1'),
      end('run-3', { state: 'failed' }),
      end('run-4', { state: 'cancelled' }),
      event('run.closed_absent', { run_id: 'run-5', task_id: 't-1' }),
    ]);

    expect(counted).toMatchObject({
      delegated_runs_started: 5,
      delegated_runs_settled: 4,
      delegated_runs_succeeded: 1,
      delegated_runs_failed: 3,
      delegated_run_failure_states: ['cancelled', 'closed_absent', 'failed'],
    });
  });

  it('ruling 3: leaves empty failure states out, and orders the others by code point', () => {
    const states = evidence([
      { ...end('run-1'), state: '' },
      { ...end('run-2'), state: '\u{1f600}' },
      { ...end('run-3'), state: '\uff5e' },
    ]);

    expect(states).toMatchObject({
      delegated_runs_failed: 3,
      delegated_run_failure_states: ['\uff5e', '\u{1f600}'],
    });
  });

  it('A4: leaves the runs of review panels out, also rows of such a run that don’t say so', () => {
    const review = started('run-r', 't-1', { source: 'review_substrate_panel' });

    expect(evidence([started('run-leaf', 't-1'), review, end('run-r')])).toMatchObject({
      delegated_runs_started: 1,
      delegated_runs_settled: 0,
      subscription_cost_usd: null,
      harness_models: [],
    });
  });

  it('judges a run without a start by its own rows', () => {
    expect(evidence([end('run-r', { source: 'review_substrate_panel' })])).toMatchObject({
      delegated_runs_started: 0,
    });
    expect(
      evidence([end('run-r', { source: 'review_substrate_panel' }), started('run-r', 't-1')]),
    ).toMatchObject({
      delegated_runs_started: 1,
    });
  });
});

describe('the cost of a task', () => {
  it.each([
    ['sums what every settled run disclosed', [end('r-1'), end('r-2', { cost_usd: 0.75 })], 2],
    ['is rounded to 6 decimals', [end('r-1', { cost_usd: 0.1 }), end('r-2', { cost_usd: 0.2 })], 0.3],
    ['takes a text that spells a number', [end('r-1', { cost_usd: ' 5.7024e0 ' })], 5.7024],
    ['is zero for a free run', [end('r-1', { cost_usd: 0 })], 0],
    ['is unknown when one run disclosed nothing', [end('r-1'), end('r-2', { spend_disclosed: false })], null],
    ['is unknown when one cost is null', [end('r-1'), end('r-2', { cost_usd: null })], null],
    ['is unknown for a text that spells none', [end('r-1', { cost_usd: '1_000' })], null],
    ['is unknown for hexadecimal text', [end('r-1', { cost_usd: '0x10' })], null],
    ['is unknown for true', [end('r-1', { cost_usd: true })], null],
    [
      'is unknown when a run is absent',
      [end('r-1'), event('run.closed_absent', { run_id: 'r-2', task_id: 't-1' })],
      null,
    ],
    ['is unknown while nothing settled', [started('r-1', 't-1')], null],
    ['rounds an exact tie to the even digit', [end('r-1', { cost_usd: 0.0078125 })], 0.007812],
  ])('ruling 3: %s', (_case, events, cost) => {
    expect(evidence(events).subscription_cost_usd).toBe(cost);
  });

  it('ruling 3: is estimated if any part is, and never while it is unknown', () => {
    expect(evidence([end('r-1'), end('r-2', { spend_estimated: true })]).subscription_cost_estimated).toBe(
      true,
    );
    expect(
      evidence([end('r-1', { cost_usd: null }), end('r-2', { spend_estimated: true })])
        .subscription_cost_estimated,
    ).toBe(false);
  });
});

describe('what the evidence tells of harnesses', () => {
  it('ruling 3: names models and profiles once, in the order of the log, from every settle', () => {
    const named = evidence([
      started('r-b', 't-1', { model: 'of the start' }),
      end('r-b', { model: 'm-2', access_profile: 'full' }),
      end('r-a', { model: 'm-1', access_profile: '' }),
      end('r-b', { model: 'm-3', state: 'failed', access_profile: 'lean' }),
      end('r-c', { model: 'm-2', access_profile: 'full' }),
    ]);

    expect(named).toMatchObject({
      harness_models: ['m-2', 'm-1', 'm-3'],
      applied_access_profiles: ['full', 'lean'],
    });
  });

  it('names at most 8 profiles of 32 characters', () => {
    const long = evidence(
      Array.from({ length: 10 }, (_, index) =>
        end(`r-${index}`, { access_profile: `${'𝄞'.repeat(31)}${index}rest` }),
      ),
    );

    expect(long.applied_access_profiles).toHaveLength(8);
    expect(long.applied_access_profiles[0]).toBe(`${'𝄞'.repeat(31)}0`);
  });

  it.each([
    ['a run is known', [started('r-1', 't-1')], true],
    ['a start was requested', [requested('inv-1', 't-1')], true],
    ['a start was blocked', [event('run.start_blocked', { task_id: 't-1' })], true],
    ['a start failed by configuration', [event('run.startup_fault', { task_id: 't-1' })], true],
    ['a review asked for a start', [requested('inv-1', 't-1', { source: 'review_substrate_x' })], false],
    ['somebody was nudged', [event('run.nudge_injected', { task_id: 't-1' })], false],
  ])('ruling 3: says whether a start was attempted when %s', (_case, events, attempted) => {
    expect(evidence(events).delegate_start_attempted).toBe(attempted);
  });

  it('says whether somebody was nudged', () => {
    expect(evidence([event('run.nudge_injected', { task_id: 't-1' })]).nanny_nudge_recorded).toBe(true);
  });

  it.each([
    ['harness_used', [end('r-1'), end('r-2', { state: 'failed' })]],
    ['harness_attempted', [end('r-1', { state: 'failed' })]],
    ['harness_attempted', [started('r-1', 't-1')]],
    ['native_only', [requested('inv-1', 't-1')]],
  ])('judges the substrate as %s', (substrate, events) => {
    expect(substrateOf(evidence(events))).toBe(substrate);
  });

  it('says that the log could not be read', () => {
    expect(evidenceOf(custodyOf([], 't-1'), false).evidence_read_failed).toBe(true);
  });
});
