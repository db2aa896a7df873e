import { isId } from '@custody/ledger';
import { describe, expect, test } from 'vitest';
import { reconcileId } from '../../../packages/reconciler/src/core/reconcile-id.ts';

describe('the id of what a sweep says', () => {
  test('is the same for the same words, and readable when it fits', () => {
    expect(reconcileId('settled', 'run-1')).toBe('reconcile:settled:run-1');
  });

  test('is an id for every run there can be, and for every state that an executor names', () => {
    const long = 'r'.repeat(128);
    const ids = [
      reconcileId('settled', long),
      reconcileId('absent', long),
      reconcileId('told', 'run-1', 'left_live', 'waiting on üser'),
    ];

    for (const id of ids) expect(isId(id)).toBe(true);
    expect(new Set(ids).size).toBe(3);
    expect(reconcileId('settled', long)).toBe(ids[0]);
  });
});
