import type { AppendResult, JsonObject, Ledger, NewEvent } from '@custody/ledger';
import { InvalidEventError } from '@custody/ledger';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { anyEvent } from '../support/event-arbitrary.ts';
import { manualClock } from '../support/manual-clock.ts';
import { rowOf } from '../support/row.ts';
import type { Snapshot } from './snapshot.ts';
import { snapshotOf } from './snapshot.ts';
import type { OpenStore, StoreKind } from './stores.ts';
import { STORES } from './stores.ts';
import { loadOrFail, updateOf } from './task-rows.contract.ts';

/** One thing that happens to a ledger. */
type Command =
  | { readonly kind: 'append'; readonly requests: readonly (readonly NewEvent[])[] }
  | { readonly kind: 'put'; readonly taskId: string; readonly status: string; readonly note: number }
  | {
      readonly kind: 'heal';
      readonly taskId: string;
      readonly list: readonly string[];
      readonly confirms: boolean;
    }
  | { readonly kind: 'confirm'; readonly taskId: string }
  | { readonly kind: 'pass'; readonly milliseconds: number };

const taskId = fc.constantFrom('t-1', 't-2', 'T-1');
const command: fc.Arbitrary<Command> = fc.oneof(
  {
    weight: 6,
    arbitrary: fc.record({
      kind: fc.constant('append' as const),
      requests: fc.array(fc.array(anyEvent, { minLength: 1, maxLength: 5 }), { minLength: 1, maxLength: 3 }),
    }),
  },
  {
    weight: 2,
    arbitrary: fc.record({
      kind: fc.constant('put' as const),
      taskId,
      status: fc.constantFrom('running', 'cancel_requested', 'failed', 'completed'),
      note: fc.nat(2),
    }),
  },
  {
    weight: 1,
    arbitrary: fc.record({
      kind: fc.constant('heal' as const),
      taskId,
      list: fc.subarray(['run-1', 'patch:run-2']),
      confirms: fc.boolean(),
    }),
  },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant('confirm' as const), taskId }) },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant('pass' as const), milliseconds: fc.nat(5000) }) },
);

describe('every store', () => {
  it('equals the memory store on the same commands, and a replay of its log', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(command, { minLength: 1, maxLength: 12 }), async (commands) => {
        const results = [];
        for (const store of STORES) results.push({ name: store.name, ...(await runOn(store, commands)) });

        const [reference, ...others] = results;
        for (const other of others) {
          expect(other.answers).toEqual(reference?.answers);
          expect(other.snapshot).toEqual(reference?.snapshot);
        }
        for (const { name, report } of results)
          expect([name, report]).toMatchObject([name, { ok: true, problems: [] }]);
      }),
      { numRuns: RUNS },
    );
  });
});

const RUNS = process.env['CUSTODY_TEST_LONG'] === undefined ? 60 : 1000;

async function runOn(store: StoreKind, commands: readonly Command[]) {
  const clock = manualClock();
  let ids = 0;
  const opened: OpenStore = await store.open({
    clock,
    newId: () => {
      ids += 1;
      return `n-${ids}`;
    },
  });
  try {
    const answers: unknown[] = [];
    for (const item of commands) {
      if (item.kind === 'pass') clock.advance(item.milliseconds);
      else answers.push(await apply(opened.ledger, item));
    }
    return {
      answers,
      snapshot: comparable(await snapshotOf(opened.ledger)),
      report: await opened.ledger.verify({ rebuild: true }),
    };
  } finally {
    await opened.dispose();
  }
}

/**
 * What two stores must agree on. Hashes cover other bytes where other programs write the log, a row may have no
 * room for its recording time there, and versions are each store's own.
 */
function comparable({ head, lines, rows, ...rest }: Snapshot) {
  return {
    ...rest,
    head: { seq: head.seq, epoch: head.epoch },
    events: lines.map((line) => {
      const {
        recorded_at: _time,
        id,
        ...event
      } = JSON.parse(line.slice(0, line.lastIndexOf(' '))) as JsonObject;
      return { ...event, id: givenOr(String(id)) };
    }),
    rows: rows.map(([, row]) => row),
  };
}

async function apply(ledger: Ledger, item: Exclude<Command, { kind: 'pass' }>): Promise<unknown> {
  switch (item.kind) {
    case 'append':
      // At the same time, so that they share a commit.
      return (await Promise.allSettled(item.requests.map((events) => ledger.append(events)))).map(toAnswer);
    case 'put':
      return ledger.rows.put([rowOf(item.taskId, { status: item.status, note: item.note })]);
    case 'heal':
      return heal(ledger, item);
    case 'confirm': {
      const loaded = await ledger.rows.load(item.taskId);
      const custodySeq = await lastSeqOf(ledger, item.taskId);
      return ledger.rows.confirm?.([
        { task_id: item.taskId, version: loaded?.version ?? '1', custody_seq: custodySeq },
      ]);
    }
  }
}

async function heal(
  ledger: Ledger,
  { taskId: id, list, confirms }: Extract<Command, { kind: 'heal' }>,
): Promise<unknown> {
  if ((await ledger.rows.load(id)) === null) return 'no row';
  const update = updateOf(await loadOrFail(ledger.rows, id), await lastSeqOf(ledger, id));
  return ledger.rows.update([{ ...update, confirms, live: { delegated_runs_unreconciled: list } }]);
}

async function lastSeqOf(ledger: Ledger, id: string): Promise<number> {
  return (await ledger.custody.tasks([id])).get(id)?.facts.last_seq ?? 0;
}

function toAnswer(answer: PromiseSettledResult<AppendResult>): unknown {
  if (answer.status === 'fulfilled') {
    return {
      ...answer.value,
      events: answer.value.events.map((item) => ({ ...item, id: givenOr(item.id) })),
    };
  }
  const error: unknown = answer.reason;
  if (!(error instanceof InvalidEventError)) throw error;
  return { code: error.code, field: error.field, index: error.index, facts: error.facts };
}

/** An id that the writer gave; those that a store makes are its own. */
function givenOr(id: string): string {
  return /^e-\d$/.test(id) ? id : 'made by the store';
}
