import fc from 'fast-check';
import { expect, test } from 'vitest';
import {
  packEvidence,
  packFacts,
  unpackEvidence,
  unpackFacts,
} from '../../../packages/ledger/src/core/packed-evidence.ts';
import type { RunEvidence, TaskFacts } from '../../../packages/ledger/src/core/run-evidence.ts';
import { emptyEvidence } from '../../../packages/ledger/src/core/run-evidence.ts';

const disclosed = fc.array(fc.tuple(fc.nat(), fc.string({ minLength: 1 })), { maxLength: 2 });

const evidence: fc.Arbitrary<RunEvidence> = fc.record({
  task_id: fc.constantFrom('t-1', 't-2'),
  run_id: fc.constantFrom('r-1', 'r-2'),
  started: fc.boolean(),
  settled: fc.boolean(),
  has_verdict: fc.boolean(),
  state: fc.constantFrom('', 'succeeded', 'failed'),
  cost_usd: fc.constantFrom(null, 0, 0.25),
  cost_estimated: fc.boolean(),
  review_owned: fc.boolean(),
  role: fc.constantFrom('attempt', 'delegate'),
  models: disclosed,
  access_profiles: disclosed,
});

const facts: fc.Arbitrary<TaskFacts> = fc.record({
  task_id: fc.constantFrom('t-1', 't-2'),
  last_seq: fc.nat(),
  nudge_recorded: fc.boolean(),
  start_attempted: fc.boolean(),
});

/** As a column keeps it. */
function throughText<T>(value: T): T {
  return JSON.parse(JSON.stringify(value)) as T;
}

test('evidence comes back from its row as it was, whether it was packed or written whole', () => {
  fc.assert(
    fc.property(evidence, (item) => {
      expect(unpackEvidence(throughText(packEvidence(item)), item)).toEqual(item);
      expect(unpackEvidence(throughText({ ...item }), item)).toEqual(item);
    }),
  );
});

test('facts of a task come back from their row as they were, whether they were packed or written whole', () => {
  fc.assert(
    fc.property(facts, (item) => {
      expect(unpackFacts(throughText(packFacts(item)), item)).toEqual(item);
      expect(unpackFacts(throughText({ ...item }), item)).toEqual(item);
    }),
  );
});

test('what says nothing takes no room', () => {
  expect(packEvidence(emptyEvidence('t-1', 'r-1'))).toEqual({});
  expect(packFacts({ task_id: 't-1', last_seq: 7, nudge_recorded: false, start_attempted: false })).toEqual(
    {},
  );
});
