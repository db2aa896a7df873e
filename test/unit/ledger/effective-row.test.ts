import type { JsonObject, TaskRow } from '@custody/ledger';
import { effectiveRow } from '@custody/ledger';
import { describe, expect, it } from 'vitest';
import { rowFromText, rowOf } from '../../support/row.ts';

const noReplica = () => null;

function lookupOf(...rows: readonly TaskRow[]): (id: string) => TaskRow | null {
  return (id) => rows.find((row) => row.task_id === id) ?? null;
}

const alone = lookupOf();

/** The row with one copy laid over it. */
function overlaid(canonical: JsonObject, replica: JsonObject): JsonObject {
  return effectiveRow(rowOf('t-split', canonical), alone, () => rowOf('t-split', replica)).value;
}

function evidenceOf(started: number, settled: number, more: JsonObject = {}): JsonObject {
  return { delegated_runs_started: started, delegated_runs_settled: settled, ...more };
}

describe('the effective row of a retried task', () => {
  const original = { status: 'failed', reason_code: 'timed_out', retry_task_id: 't-retry' };

  it('S19: shows the retry, with what the original still discloses', () => {
    const orig = rowOf('t-orig', { ...original, delegated_runs_unreconciled: ['run-stale'] });
    const retry = rowOf('t-retry', { status: 'failed', result: 'second try' });

    const shown = effectiveRow(orig, lookupOf(retry), noReplica).value;

    expect(shown).toEqual({
      task_id: 't-retry',
      status: 'failed',
      result: 'second try',
      delegated_runs_unreconciled: ['run-stale'],
      original_task_id: 't-orig',
      supersedes_task_id: 't-orig',
      retry_lineage: [
        {
          task_id: 't-orig',
          status: 'failed',
          outcome_axes: null,
          reason_code: 'timed_out',
          retry_task_id: 't-retry',
        },
      ],
    });
  });

  it('S19, A6: stops inheriting a debt as soon as the original no longer discloses it', () => {
    const retry = rowOf('t-retry', { status: 'failed' });
    const before = rowOf('t-orig', { ...original, delegated_runs_unreconciled: ['run-r'] });
    const after = rowOf('t-orig', { ...original, delegated_runs_unreconciled: [] });

    const listOf = (row: TaskRow) =>
      effectiveRow(row, lookupOf(retry), noReplica).value['delegated_runs_unreconciled'];

    expect(listOf(before)).toEqual(['run-r']);
    expect(listOf(after)).toEqual([]);
  });

  it('A6: puts the retry’s own debts first and names none twice', () => {
    const orig = rowOf('t-orig', { ...original, delegated_runs_unreconciled: ['run-r', 'run-a'] });
    const retry = rowOf('t-retry', { status: 'failed', delegated_runs_unreconciled: ['run-b', 'run-r'] });

    const shown = effectiveRow(orig, lookupOf(retry), noReplica).value;

    expect(shown['delegated_runs_unreconciled']).toEqual(['run-b', 'run-r', 'run-a']);
  });

  it('discloses no list when neither row has one', () => {
    const shown = effectiveRow(
      rowOf('t-orig', original),
      lookupOf(rowOf('t-retry', { status: 'completed' })),
      noReplica,
    );

    expect(shown.raw.has('delegated_runs_unreconciled')).toBe(false);
  });

  it('ruling 10: tells missing lineage values as null, and prefers superseded_by to retry_task_id', () => {
    const orig = rowOf('t-orig', {
      status: 'interrupted',
      superseded_by: 't-next',
      retry_task_id: 't-other',
    });

    const shown = effectiveRow(orig, lookupOf(rowOf('t-next', { status: 'completed' })), noReplica);

    expect(shown.task_id).toBe('t-next');
    expect(shown.value['retry_lineage']).toEqual([
      {
        task_id: 't-orig',
        status: 'interrupted',
        outcome_axes: null,
        reason_code: null,
        retry_task_id: 't-next',
      },
    ]);
  });

  it('follows a chain to its end, oldest first, and keeps what the last retry tells of itself', () => {
    const first = rowOf('t-1', {
      status: 'failed',
      retry_task_id: 't-2',
      delegated_runs_unreconciled: ['run-1'],
    });
    const second = rowOf('t-2', {
      status: 'failed',
      retry_task_id: 't-3',
      delegated_runs_unreconciled: ['run-2'],
    });
    const third = rowOf('t-3', { status: 'completed', original_task_id: 't-0', retry_lineage: ['told'] });

    const shown = effectiveRow(first, lookupOf(second, third), noReplica).value;

    expect(shown['retry_lineage']).toEqual([
      expect.objectContaining({ task_id: 't-1', retry_task_id: 't-2' }),
      expect.objectContaining({ task_id: 't-2', retry_task_id: 't-3' }),
      'told',
    ]);
    expect(shown['original_task_id']).toBe('t-0');
    expect(shown['supersedes_task_id']).toBe('t-2');
    expect(shown['delegated_runs_unreconciled']).toEqual(['run-2', 'run-1']);
  });

  it('ends before a task that it has visited', () => {
    const first = rowOf('t-1', { status: 'failed', retry_task_id: 't-2' });
    const second = rowOf('t-2', { status: 'failed', retry_task_id: 't-1' });
    const self = rowOf('t-self', { status: 'failed', retry_task_id: 't-self' });

    const shown = effectiveRow(first, lookupOf(first, second), noReplica);

    expect(shown.task_id).toBe('t-2');
    expect(shown.value['retry_lineage']).toHaveLength(1);
    expect(effectiveRow(self, lookupOf(self), noReplica)).toBe(self);
  });

  it('shows the row itself when its pointer leads nowhere', () => {
    const row = rowOf('t-orig', { status: 'failed', retry_task_id: 't-gone' });

    expect(effectiveRow(row, alone, noReplica)).toBe(row);
  });

  it('leaves the raw rows alone and keeps numbers that fit no double', () => {
    const orig = rowFromText(
      '{"task_id":"t-1","status":"failed","retry_task_id":"t-2","outcome_axes":{"budget":123456789012345678901}}',
    );
    const retry = rowFromText('{"task_id":"t-2","status":"failed","x_big":98765432109876543210}');
    const before = [...retry.raw];

    const shown = effectiveRow(orig, lookupOf(retry), noReplica);

    expect(shown.raw.get('x_big')).toBe('98765432109876543210');
    expect(shown.raw.get('retry_lineage')).toContain('123456789012345678901');
    expect([...retry.raw]).toEqual(before);
  });
});

describe('the effective row of a task with a replica', () => {
  it('S6: a stale replica can’t cover a healed disclosure again', () => {
    const shown = overlaid(
      {
        status: 'failed',
        delegated_runs_unreconciled: [],
        delegate_terminal_reconciliation: { trigger: 'boot_backfill' },
        child_drive_root: 'child',
      },
      {
        status: 'failed',
        delegated_runs_unreconciled: ['run-9'],
        delegate_terminal_reconciliation: { trigger: 'loop_exit' },
      },
    );

    expect(shown['delegated_runs_unreconciled']).toEqual([]);
    expect(shown['delegate_terminal_reconciliation']).toEqual({ trigger: 'boot_backfill' });
  });

  it('S6: a replica fills a disclosure that the row does not have', () => {
    const shown = overlaid(
      { status: 'failed' },
      { status: 'failed', delegated_runs_unreconciled: ['run-fill'] },
    );

    expect(shown['delegated_runs_unreconciled']).toEqual(['run-fill']);
  });

  it('ruling 10: a replica overrides everything but ids', () => {
    const shown = overlaid(
      { status: 'running', root_task_id: 't-root', note: 'canonical', kept: 1 },
      {
        status: 'completed',
        root_task_id: 't-forged',
        session_id: 's-forged',
        note: 'child',
        result: 'done',
        reason_code: 'ok',
      },
    );

    expect(shown).toEqual({
      task_id: 't-split',
      status: 'completed',
      root_task_id: 't-root',
      note: 'child',
      kept: 1,
      result: 'done',
      reason_code: 'ok',
    });
  });

  it.each(['failed', 'rejected_duplicate'])('a %s task keeps status, result, error and ts', (status) => {
    const shown = overlaid(
      { status, result: 'canonical', ts: 'then', reason_code: 'a' },
      {
        status: 'completed',
        result: 'child',
        error: 'child',
        ts: 'later',
        reason_code: 'b',
        x_replica: true,
      },
    );

    expect(shown).toEqual({
      task_id: 't-split',
      status,
      result: 'canonical',
      ts: 'then',
      reason_code: 'b',
      x_replica: true,
    });
  });

  it('a cancelled task takes nothing from its replica', () => {
    const row = rowOf('t-split', { status: 'cancelled', child_drive_root: 'child' });

    const shown = effectiveRow(row, alone, () => rowOf('t-split', { status: 'completed', note: 'child' }));

    expect(shown).toBe(row);
  });

  it('overlays the replica of the last retry only', () => {
    const orig = rowOf('t-orig', { status: 'failed', retry_task_id: 't-retry', child_drive_root: 'a' });
    const retry = rowOf('t-retry', { status: 'running', child_drive_root: 'b' });

    const shown = effectiveRow(orig, lookupOf(retry), (row) =>
      rowOf(row.task_id, { status: 'completed', from: row.value['child_drive_root'] ?? null }),
    );

    expect(shown.value).toMatchObject({ task_id: 't-retry', status: 'completed', from: 'b' });
  });
});

describe('execution evidence of a row and its replica', () => {
  const canonical = (evidence: JsonObject) => ({
    status: 'failed',
    actual_substrate: 'harness_used',
    native_contribution: 'canonical',
    subagent_envelope: {
      executor_route: 'old',
      actual_substrate: 'harness_used',
      execution_evidence: evidence,
    },
  });
  const replica = (evidence: JsonObject | null) => ({
    status: 'failed',
    actual_substrate: 'harness_attempted',
    native_contribution: 'child',
    subagent_envelope: {
      executor_route: 'new',
      actual_substrate: 'harness_attempted',
      ...(evidence === null ? {} : { execution_evidence: evidence }),
    },
  });
  const kept = (evidence: JsonObject) => ({
    actual_substrate: 'harness_used',
    native_contribution: 'canonical',
    subagent_envelope: {
      executor_route: 'new',
      actual_substrate: 'harness_used',
      execution_evidence: evidence,
    },
  });

  it.each([
    ['is as far', evidenceOf(2, 1), evidenceOf(2, 1, { subscription_cost_usd: 9 })],
    ['is further', evidenceOf(3, 1), evidenceOf(2, 1)],
    ['meets a replica without evidence', evidenceOf(1, 1), null],
    [
      'meets counts that can’t be trusted',
      evidenceOf(1, 1),
      evidenceOf(9, 9, { evidence_read_failed: true }),
    ],
    [
      'meets counts that are no numbers',
      evidenceOf(1, 1),
      { delegated_runs_started: '9', delegated_runs_settled: 9 },
    ],
  ])('is the canonical one when it %s', (_case, ours, theirs) => {
    expect(overlaid(canonical(ours), replica(theirs))).toMatchObject(kept(ours));
  });

  it.each([
    ['knows of a later start', evidenceOf(1, 1), evidenceOf(2, 1)],
    ['knows of a later settle', evidenceOf(2, 0), evidenceOf(2, 1)],
    ['meets canonical counts that can’t be trusted', { delegated_runs_started: -1 }, evidenceOf(0, 0)],
    ['is the only one', {}, evidenceOf(1, 0)],
  ])('is the replica’s when it %s', (_case, ours, theirs) => {
    expect(overlaid(canonical(ours), replica(theirs))).toMatchObject(replica(theirs));
  });
});
