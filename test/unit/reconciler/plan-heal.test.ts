import type { JsonObject, TaskCustody } from '@custody/ledger';
import { evidenceOf, parseTaskRow } from '@custody/ledger';
import type { HealPlan } from '@custody/reconciler';
import { audit, auditSource, planHeal } from '@custody/reconciler';
import { describe, expect, test } from 'vitest';

const nothing: TaskCustody = {
  task_id: 't-1',
  runs: [],
  invocations: [],
  evidence: [],
  foreign_runs: [],
  facts: { task_id: 't-1', last_seq: 0, nudge_recorded: false, start_attempted: false },
};

function plan(row: JsonObject, readable = true): HealPlan {
  return planHeal({
    row: parseTaskRow(JSON.stringify({ task_id: 't-1', status: 'failed', ...row })),
    audit: audit('t-1', 'boot_backfill', auditSource(nothing, readable)),
    evidence: evidenceOf(nothing, readable),
    custody: nothing,
  });
}

describe('a heal plan', () => {
  test('V3: a failed audit keeps the last list that was known, also when it fails again for another reason', () => {
    const first = plan({ delegated_runs_unreconciled: ['run-1'] }, false);
    expect(first).toMatchObject({
      kind: 'heal',
      heal: {
        confirms: false,
        live: {
          delegated_runs_unreconciled: ['delegated_run_state_unknown:custody_log_unreadable'],
          delegate_terminal_reconciliation: { audit_status: 'failed', last_known_unreconciled: ['run-1'] },
        },
      },
    });

    const again = plan(
      {
        delegated_runs_unreconciled: ['delegated_run_state_unknown:audit_failed'],
        delegate_terminal_reconciliation: { audit_status: 'failed', last_known_unreconciled: ['run-1'] },
      },
      false,
    );
    expect(again).toMatchObject({
      heal: { live: { delegate_terminal_reconciliation: { last_known_unreconciled: ['run-1'] } } },
    });
  });

  test('a failed audit that is stored already is not stored again', () => {
    const token = 'delegated_run_state_unknown:custody_log_unreadable';
    const row = {
      delegated_runs_unreconciled: [token],
      delegate_terminal_reconciliation: { audit_status: 'failed', unreconciled: [token] },
    };

    expect(plan(row, false)).toEqual({ kind: 'current', confirms: false });
  });

  test('A8: an unreadable log leaves a row with an empty list alone, and never calls evidence stale', () => {
    expect(
      plan(
        { delegated_runs_unreconciled: [], delegated_runs_started: 5, actual_substrate: 'harness_used' },
        false,
      ),
    ).toEqual({ kind: 'current', confirms: false });
  });

  test.each([['running'], ['interrupted'], ['cancel_requested'], ['scheduled'], ['no such status']])(
    'a row that is %s is not terminal',
    (status) => {
      expect(plan({ status, delegated_runs_unreconciled: ['run-1'] })).toEqual({ kind: 'not_terminal' });
    },
  );

  test.each([
    ['a text', '1'],
    ['a truth', true],
    ['a list', [1]],
    ['an object', {}],
  ])('ruling 3: a stored counter that is %s is a mismatch', (_what, counter) => {
    expect(
      plan({ subagent_envelope: { execution_evidence: { delegated_runs_started: counter } } }),
    ).toMatchObject({ kind: 'heal' });
  });

  test.each([
    ['missing', undefined],
    ['null', null],
    ['zero', 0],
  ])('ruling 3: a stored counter that is %s is 0', (_what, counter) => {
    expect(
      plan({ subagent_envelope: { execution_evidence: { delegated_runs_started: counter, note: 1 } } }),
    ).toEqual({ kind: 'current', confirms: true });
  });

  test('V2: one heal carries both kinds of staleness', () => {
    const result = plan({
      delegated_runs_unreconciled: ['run-1'],
      delegated_runs_started: 0,
      actual_substrate: 'harness_used',
    });

    expect(result).toMatchObject({
      kind: 'heal',
      heal: { live: { delegated_runs_unreconciled: [], execution: { substrate: 'native_only' } } },
    });
  });

  test('something else in the place of the envelope is kept, and the rest is healed', () => {
    const result = plan({
      subagent_envelope: 'gone',
      delegated_runs_started: 0,
      actual_substrate: 'harness_used',
    });

    expect(result).toMatchObject({
      kind: 'heal',
      heal: { live: { execution: { substrate: 'native_only' } } },
    });
  });
});
