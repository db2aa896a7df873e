import { expect, test } from 'vitest';
import type { MemoryLog } from '../../../packages/ledger/src/adapters/memory/memory-event-store.ts';
import { appendToMemory } from '../../../packages/ledger/src/adapters/memory/memory-event-store.ts';
import { verifyMemory } from '../../../packages/ledger/src/adapters/memory/memory-verify.ts';
import { CustodyFold } from '../../../packages/ledger/src/core/custody-fold.ts';
import { ManagedFold } from '../../../packages/ledger/src/core/managed/managed-fold.ts';
import { settled, started } from '../../support/events.ts';

/** Four events in memory, as only the process itself could reach them. */
function filled(): MemoryLog {
  const log: MemoryLog = {
    stored: [],
    byId: new Map(),
    fold: new CustodyFold(),
    managed: new ManagedFold(),
    epoch: 1,
    incarnation: 'i-1',
    waiters: new Set(),
    onTouched: () => undefined,
    onManaged: () => undefined,
  };
  let ids = 0;
  const newId = () => {
    ids += 1;
    return `e-${ids}`;
  };
  const events = [started('run-1', 't-1'), started('run-2', 't-1'), settled('run-1'), settled('run-2')];
  appendToMemory(log, [{ events }], { now: 0, newId });
  return log;
}

const flipped = (text: string) => text.replace('t-1', 't-9');

test.each<[string, (log: MemoryLog) => void, object]>([
  [
    'a text that was edited',
    ({ stored }) => {
      const [first] = stored;
      if (first !== undefined) stored[0] = { ...first, text: flipped(first.text) };
    },
    { code: 'hash_mismatch', seq: 1 },
  ],
  ['an event that was removed', ({ stored }) => void stored.splice(1, 1), { code: 'hash_mismatch', seq: 3 }],
  [
    'two events that were swapped',
    ({ stored }) => void stored.splice(1, 2, ...stored.slice(1, 3).reverse()),
    {
      code: 'hash_mismatch',
      seq: 3,
    },
  ],
  ['an end that was cut', ({ stored }) => void stored.pop(), { code: 'truncated', seq: 3 }],
  ['a record that is gone', ({ fold }) => void fold.runs.delete('run-2'), { code: 'table_mismatch' }],
])('P2, V10: in memory %s is named with its place', (_what, attack, expected) => {
  const log = filled();
  const expectHead = { seq: 4, hash: String(log.stored[3]?.event.hash) };
  expect(verifyMemory(log, { rebuild: true, expectHead })).toMatchObject({ ok: true, problems: [] });

  attack(log);

  const report = verifyMemory(log, { rebuild: true, expectHead });
  expect(report.ok).toBe(false);
  expect(report.problems[0]).toMatchObject(expected);
});
