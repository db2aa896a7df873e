import { parseNewEvent } from '@custody/ledger';
import { describe, expect, test } from 'vitest';
import { started } from '../../support/events.ts';
import { runOf } from '../../support/fold.ts';

const first = { pid: 7, started_at_ticks: 8, boot_id: 'b' };

describe('the process of a run', () => {
  test('is kept from the first start that names it; a repeat puts no other in its place', () => {
    const later = { ...first, pid: 9 };

    expect(
      runOf(
        [started('run-1', 't-1', { process: first }), started('run-1', 't-1', { process: later })],
        'run-1',
      ).facts['process'],
    ).toEqual(first);
    expect(
      runOf([started('run-1', 't-1'), started('run-1', 't-1', { process: later })], 'run-1').facts['process'],
    ).toEqual(later);
    expect(
      runOf([started('run-1', 't-1', { process: first }), started('run-1', 't-1')], 'run-1').facts['process'],
    ).toEqual(first);
  });

  test('is not there for a run that named none', () => {
    expect(runOf([started('run-1', 't-1')], 'run-1').facts).not.toHaveProperty('process');
  });

  test('must be an object', () => {
    expect(() => parseNewEvent(started('run-1', 't-1', { process: 7 }), 0)).toThrow(/process/);
  });
});

test('what became of an invocation can be told before it has a run', () => {
  const told = {
    type: 'run.reconciled',
    task_id: 't-1',
    invocation_id: 'inv-1',
    action: 'recovery_unreachable',
  };

  expect(parseNewEvent(told, 0)).toEqual(told);
  expect(() => parseNewEvent({ ...told, invocation_id: 7 }, 0)).toThrow(/invocation_id is a number/);
});
