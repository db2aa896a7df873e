import type { JsonObject, RecordedEvent } from '@custody/ledger';
import { DEFAULT_SETTINGS, parseSettings } from '@custody/ledger';
import { describe, expect, test } from 'vitest';
import { ManagedFold } from '../../../packages/ledger/src/core/managed/managed-fold.ts';

let seq = 0;

function recorded(type: string, fields: JsonObject): RecordedEvent {
  seq += 1;
  const at = '2026-03-01T00:00:00.000Z';
  return { seq, id: `e-${seq}`, type, at, recorded_at: at, epoch: 1, hash: '', ...fields } as RecordedEvent;
}

const created = () =>
  recorded('task.created', { task_id: 't-1', title: 'work', priority: 0, parents: [], status: 'ready' });
const claimed = (runId: string) =>
  recorded('run.started', {
    task_id: 't-1',
    run_id: runId,
    role: 'attempt',
    claim: { holder: 'h', ttl_ms: 1000 },
  });

describe('the fold of managed tasks', () => {
  test('ignores what no command wrote: broken events, starts of others, tasks that were never created', () => {
    const fold = new ManagedFold();
    fold.apply(created());
    const before = JSON.stringify([...fold.tasks, ...fold.leases]);
    fold.clearChanged();

    for (const event of [
      recorded('task.completed', { task_id: 't-1' }),
      recorded('task.blocked', {
        task_id: 't-1',
        reason: 'x',
        kind: 'nonsense',
        recurrences: 1,
        source_status: 'ready',
      }),
      recorded('run.started', { task_id: 't-1', run_id: 'd-1' }),
      recorded('run.started', { task_id: 't-1', run_id: 'r-1', role: 'attempt' }),
      recorded('run.started', { task_id: 't-1', run_id: 'r-1', claim: { holder: '' } }),
      recorded('task.cancelled', { task_id: 't-9', reason: 'x' }),
      recorded('run.settled', { task_id: 't-1', run_id: 'r-1', state: 'succeeded' }),
      recorded('x.task.completed', { task_id: 't-1' }),
    ]) {
      fold.apply(event);
    }

    expect(JSON.stringify([...fold.tasks, ...fold.leases])).toBe(before);
    expect(fold.changed.tasks.size + fold.changed.leases.size).toBe(0);
  });

  test('a second creation changes nothing', () => {
    const fold = new ManagedFold();
    fold.apply(created());
    fold.apply(
      recorded('task.created', {
        task_id: 't-1',
        title: 'other',
        priority: 9,
        parents: [],
        status: 'triage',
      }),
    );

    expect(fold.tasks.get('t-1')).toMatchObject({ title: 'work', status: 'ready' });
  });

  test('the lease of a task is kept when its run ends: it holds the fence', () => {
    const fold = new ManagedFold();
    fold.apply(created());
    const start = claimed('r-1');
    fold.apply(start);
    expect(fold.leases.get('t-1')).toMatchObject({ fence: start.seq, open: true });

    fold.apply(
      recorded('claim.reclaimed', { task_id: 't-1', run_id: 'r-1', manual: true, error: 'x', counts: false }),
    );
    expect(fold.leases.get('t-1')).toMatchObject({ run_id: 'r-1', fence: start.seq, open: false });

    const next = claimed('r-2');
    fold.apply(next);
    expect(fold.leases.get('t-1')).toMatchObject({ run_id: 'r-2', fence: next.seq, open: true });
  });
});

describe('settings of managed tasks', () => {
  test('fall back one by one', () => {
    expect(parseSettings(null)).toEqual(DEFAULT_SETTINGS);
    expect(
      parseSettings({ lease_ttl_ms: 5, crash_grace_ms: 0, park_settle_ms: -1, failure_limit: 'x' }),
    ).toEqual({
      ...DEFAULT_SETTINGS,
      lease_ttl_ms: 5,
      crash_grace_ms: 0,
    });
  });
});
