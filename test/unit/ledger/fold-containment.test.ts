import type { NewEvent } from '@custody/ledger';
import { boundDetail, isFaultOpen } from '@custody/ledger';
import { describe, expect, it } from 'vitest';
import { event, settled, started } from '../../support/events.ts';
import { foldOf } from '../../support/fold.ts';

const second = (value: number) => `2026-03-01T00:01:${String(value).padStart(2, '0')}.000Z`;
const fault = (at: number, reason = 'cancel_unverified') =>
  event('containment.fault', { run_id: 'run-1', task_id: 't-1', at: second(at), reason, detail: `at ${at}` });
const resolved = (at: number) =>
  event('containment.resolved', { run_id: 'run-1', task_id: 't-1', at: second(at) });
const settledAt = (at: number) => ({ ...settled('run-1', { task_id: 't-1' }), at: second(at) });

function isOpen(...events: readonly NewEvent[]): boolean {
  const record = foldOf([started('run-1', 't-1'), ...events]).containment.get('run-1');
  return record !== undefined && isFaultOpen(record);
}

describe('a containment fault', () => {
  it('is open until it is resolved, or its run is settled or absent', () => {
    expect(isOpen(fault(1))).toBe(true);
    expect(isOpen(fault(1), resolved(2))).toBe(false);
    expect(isOpen(fault(1), settledAt(2))).toBe(false);
    expect(isOpen(fault(1), event('run.closed_absent', { run_id: 'run-1', at: second(2) }))).toBe(false);
  });

  it('V7: opens again when a newer one comes after the resolution', () => {
    expect(isOpen(fault(1), resolved(2), fault(3))).toBe(true);
    expect(isOpen(fault(1), settledAt(2), fault(3))).toBe(true);
    expect(isOpen(settledAt(2), fault(3))).toBe(true);
  });

  it('ruling 7: is judged by time, not by the order of the rows; a tie closes', () => {
    expect(isOpen(resolved(2), fault(1))).toBe(false);
    expect(isOpen(settledAt(2), fault(1))).toBe(false);
    expect(isOpen(fault(2), resolved(2))).toBe(false);
    expect(isOpen(resolved(2), fault(2))).toBe(false);
    expect(isOpen(fault(3), fault(1), resolved(2))).toBe(true);
  });

  it('keeps the reason of the newest one', () => {
    const fold = foldOf([fault(2, 'newer'), fault(1, 'older')]);

    expect(fold.containment.get('run-1')).toMatchObject({ reason: 'newer', detail: 'at 2', task_id: 't-1' });
  });

  it('is not opened by what closes one', () => {
    expect(isOpen(resolved(1))).toBe(false);
    expect(foldOf([started('run-1', 't-1'), settledAt(1)]).containment.size).toBe(0);
  });
});

describe('the detail of a fault', () => {
  it('F14: is cut at 2,000 characters with a note that tells its length', () => {
    const bounded = boundDetail('d'.repeat(5000));

    expect(bounded.startsWith('d'.repeat(2000))).toBe(true);
    expect(bounded).toContain('original length 5000');
    expect(bounded.length).toBeLessThan(2100);
  });

  it.each([0, 1999, 2000, 2010])(
    'F14: passes whole with %i characters, where a note would save nothing',
    (length) => {
      expect(boundDetail('d'.repeat(length))).toHaveLength(length);
    },
  );

  it('F14: is never longer than what it stands for', () => {
    for (let length = 2000; length < 2100; length += 1) {
      expect(boundDetail('d'.repeat(length)).length).toBeLessThanOrEqual(length);
    }
  });
});
