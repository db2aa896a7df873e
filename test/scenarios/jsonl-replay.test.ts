import { mkdirSync, readdirSync, rmSync, truncateSync } from 'node:fs';
import type { Ledger } from '@custody/ledger';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { answersOf, freshAnswers } from '../support/answers.ts';
import type { ForeignRoot } from '../support/foreign-root.ts';
import { foreignRoot, noiseRow, settleRow, startRow } from '../support/foreign-root.ts';

/** One thing that happens to a log while a ledger is open on it. */
type Step = (root: ForeignRoot, ledger: Ledger) => unknown;

const run = fc.nat(4).map((index) => `run-${index}`);
const task = fc.nat(2).map((index) => `t-${index}`);

const step: fc.Arbitrary<{ readonly name: string; readonly apply: Step }> = fc.oneof(
  {
    weight: 6,
    arbitrary: fc.tuple(run, task, fc.boolean()).map(([id, owner, isEnd]) => ({
      name: `row ${id} ${owner} ${isEnd}`,
      apply: (root: ForeignRoot) => root.rows(isEnd ? settleRow(id, owner) : startRow(id, owner)),
    })),
  },
  {
    weight: 2,
    arbitrary: fc.constant({ name: 'noise', apply: (root: ForeignRoot) => root.rows(noiseRow()) }),
  },
  { weight: 2, arbitrary: fc.constant({ name: 'rotate', apply: rotate }) },
  {
    weight: 1,
    arbitrary: fc.integer({ min: 1, max: 60 }).map((bytes) => ({
      name: `tear ${bytes}`,
      apply: (root: ForeignRoot) =>
        root.append(JSON.stringify(startRow('run-torn', 't-torn')).slice(0, bytes)),
    })),
  },
  {
    weight: 1,
    arbitrary: fc
      .integer({ min: 1, max: 200 })
      .map((bytes) => ({ name: `cut ${bytes}`, apply: (root: ForeignRoot) => cut(root, bytes) })),
  },
  {
    weight: 1,
    arbitrary: fc.nat(3).map((which) => ({
      name: `delete ${which}`,
      apply: (root: ForeignRoot) => deleteSegment(root, which),
    })),
  },
  {
    weight: 2,
    arbitrary: fc.tuple(run, task).map(([id, owner]) => ({
      name: `append ${id} ${owner}`,
      apply: (_root: ForeignRoot, ledger: Ledger) =>
        ledger.append([{ type: 'run.started', run_id: id, task_id: owner }]),
    })),
  },
  {
    weight: 3,
    arbitrary: fc.constant({
      name: 'look',
      apply: (_root: ForeignRoot, ledger: Ledger) => answersOf(ledger),
    }),
  },
);

function rotate(root: ForeignRoot): void {
  if (root.text('logs/events.jsonl') === '') return;
  mkdirSync(root.at('archive'), { recursive: true });
  const count = readdirSync(root.at('archive')).length;
  const newest = readdirSync(root.at('archive')).sort().at(-1) ?? 'events_0';
  root.rotate(`${newest.replace('.jsonl', '')}_${count}.jsonl`);
}

function cut(root: ForeignRoot, bytes: number): void {
  const text = root.text('logs/events.jsonl');
  if (text !== '')
    truncateSync(root.at('logs', 'events.jsonl'), Math.max(0, Buffer.byteLength(text) - bytes));
}

function deleteSegment(root: ForeignRoot, which: number): void {
  mkdirSync(root.at('archive'), { recursive: true });
  const name = readdirSync(root.at('archive')).sort()[which];
  if (name !== undefined) rmSync(root.at('archive', name));
}

test('V10: whatever happens to a log, the answers are those of a full replay', async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(step, { minLength: 1, maxLength: 25 }), async (steps) => {
      const root = foreignRoot();
      const ledger = await root.open();

      for (const { apply } of steps) await apply(root, ledger);

      expect(await answersOf(ledger)).toEqual(await freshAnswers(root));
      await ledger.close();
    }),
    { numRuns: 60 },
  );
});
