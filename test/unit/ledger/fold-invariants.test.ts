import type { JsonObject, NewEvent, RunRecord } from '@custody/ledger';
import { CustodyFold, isPatchOwed, isPending, openLedger, openRunIds, taskCustodyOf } from '@custody/ledger';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { anyHistory } from '../../support/event-arbitrary.ts';
import { event, requested, settled, started } from '../../support/events.ts';
import { foldOf, recorded } from '../../support/fold.ts';

/** What a fold says, without what only tells where a row stood. */
function meaningOf(fold: CustodyFold) {
  return {
    runs: [...fold.runs.values()].map(withoutPlaces),
    invocations: [...fold.invocations.values()].map(({ first_seq: _seq, ...rest }) => rest),
    evidence: [...fold.evidence.values()].map(({ models, access_profiles, ...rest }) => ({
      ...rest,
      models: models.map(([, value]) => value),
      access_profiles: access_profiles.map(([, value]) => value),
    })),
    containment: [...fold.containment.values()],
  };
}

/** A count of ignored verdicts counts a repeated one again. */
function withoutPlaces({
  first_seq: _first,
  settled_seq: _settled,
  conflicting_verdicts: _count,
  ...rest
}: RunRecord) {
  return rest;
}

/** A history with each row's time fixed, so that a repeat is the same row. */
const anyRows = anyHistory.map((events) => recorded(events));

describe('the fold', () => {
  it('13.9-1: doesn’t change when any single row is repeated right after itself', () => {
    fc.assert(
      fc.property(anyRows, fc.nat(), (rows, pick) => {
        const index = pick % rows.length;
        const repeated = [...rows.slice(0, index + 1), ...rows.slice(index)];

        expect(meaningOf(foldOf(repeated))).toEqual(meaningOf(foldOf(rows)));
      }),
      { numRuns: 400 },
    );
  });

  it('13.9-1: is not taken back by an old start at the end', () => {
    fc.assert(
      fc.property(anyRows, fc.nat(), (rows, pick) => {
        const starts = rows.filter((row) => row.type === 'run.started');
        const old = starts[pick % Math.max(1, starts.length)];
        fc.pre(old !== undefined);
        const before = foldOf(rows);
        const after = foldOf([...rows, old]);

        for (const [id, run] of before.runs) expectNotTakenBack(run, after.runs.get(id));
      }),
      { numRuns: 400 },
    );
  });

  it('is the same in one go and in parts, with only the named records carried over', () => {
    fc.assert(
      fc.property(anyRows, fc.array(fc.nat(40), { maxLength: 5 }), (rows, cuts) => {
        const whole = foldOf(rows);
        const parts = new CustodyFold();
        for (const row of rows) parts.apply(row);
        // A fold that starts from saved records, as a store's does after each commit.
        let carried = new CustodyFold();
        const places = [...new Set(cuts)].sort((a, b) => a - b);
        for (const [index, row] of rows.entries()) {
          if (places.includes(index)) carried = copyOf(carried);
          carried.apply(row);
        }

        expect(meaningOf(parts)).toEqual(meaningOf(whole));
        expect(meaningOf(carried)).toEqual(meaningOf(whole));
      }),
      { numRuns: 200 },
    );
  });

  it('V11: settles a run whatever the order of its start, its ends and its cost record', () => {
    const rows = [
      started('run-1', 't-1', { snapshot_id: 's-1', model: 'm' }),
      settled('run-1', { task_id: 't-1' }),
      settled('run-1', { task_id: 't-1' }),
      event('run.closed_absent', { run_id: 'run-1', task_id: 't-1' }),
      event('run.ledger_recorded', { run_id: 'run-1', task_id: 't-1' }),
    ].map((row) => ({ ...row, at: '2026-03-01T00:00:00.000Z' }));
    const expected = meaningOf(foldOf(rows));

    fc.assert(
      fc.property(fc.shuffledSubarray(rows, { minLength: rows.length }), (order) => {
        expect(meaningOf(foldOf(order))).toEqual(expected);
      }),
    );
  });
});

function expectNotTakenBack(before: RunRecord, after: RunRecord | undefined): void {
  if (after === undefined) throw new Error(`the run ${before.run_id} is gone`);
  expect(after).toMatchObject({ settled: before.settled, terminal_state: before.terminal_state });
  if (before.patch_disposed !== '') expect(isPatchOwed(after)).toBe(false);
  if (before.started && !before.project_owned) expect(after.project_owned).toBe(false);
}

/** One delegation, step by step: what the world does, and what was written before or after it. */
const STEPS = ['request', 'post', 'start', 'finish', 'settle', 'dispose'] as const;

describe('the protocol of a start', () => {
  it('13.9-3: never loses sight of a live run, wherever it crashes', () => {
    const delegations = fc.array(
      fc.record({
        reached: fc.constantFrom(...STEPS),
        task: fc.constantFrom('t-1', 't-2'),
        snapshot: fc.boolean(),
        lostAnswer: fc.boolean(),
      }),
      { minLength: 1, maxLength: 6 },
    );
    fc.assert(
      fc.property(delegations, fc.infiniteStream(fc.nat()), (plans, choice) => {
        const world = interleave(
          plans.map((plan, index) => stepsOf(plan, `${index}`)),
          choice,
        );
        const log: NewEvent[] = [];
        const live = new Map<string, string>();
        for (const step of world) {
          take(step, log, live);
          // A crash may come after every single step.
          for (const [run, task] of live) expect(isSeen(log, task, run)).toBe(true);
        }
      }),
    );
  });
});

function take(step: Step, log: NewEvent[], live: Map<string, string>): void {
  if (step.write !== undefined) log.push(step.write);
  if (step.live !== undefined) live.set(step.live.run, step.live.task);
  if (step.gone !== undefined) live.delete(step.gone);
}

interface Step {
  readonly write?: NewEvent;
  readonly live?: { readonly run: string; readonly task: string };
  readonly gone?: string;
}

function stepsOf(
  plan: {
    readonly reached: (typeof STEPS)[number];
    readonly task: string;
    readonly snapshot: boolean;
    readonly lostAnswer: boolean;
  },
  name: string,
): readonly Step[] {
  const run = `run-${name}`;
  const bound: JsonObject = { invocation_id: `inv-${name}`, snapshot_id: plan.snapshot ? `s-${name}` : '' };
  const all: Readonly<Record<(typeof STEPS)[number], Step>> = {
    request: { write: requested(`inv-${name}`, plan.task) },
    post: { live: { run, task: plan.task } },
    // The answer was lost: the failure is indefinite, and the run may exist.
    start: plan.lostAnswer
      ? {
          write: event('run.start_failed', {
            invocation_id: `inv-${name}`,
            task_id: plan.task,
            definite: false,
          }),
        }
      : { write: started(run, plan.task, bound) },
    finish: { gone: run },
    settle: plan.lostAnswer ? {} : { write: settled(run) },
    dispose: plan.lostAnswer
      ? {}
      : { write: event('patch.disposed', { run_id: run, disposition: 'applied' }) },
  };
  return STEPS.slice(0, STEPS.indexOf(plan.reached) + 1).map((step) => all[step]);
}

/** The steps of all plans, each in its own order, mixed as the stream says. */
function interleave(plans: readonly (readonly Step[])[], choice: Iterator<number>): readonly Step[] {
  const left = plans.map((steps) => [...steps]);
  const mixed: Step[] = [];
  for (;;) {
    const open = left.filter((steps) => steps.length > 0);
    if (open.length === 0) return mixed;
    const step = open[Number(choice.next().value) % open.length]?.shift();
    if (step !== undefined) mixed.push(step);
  }
}

/** A live run is in sight when it is open, or its invocation is pending. */
function isSeen(log: readonly NewEvent[], task: string, run: string): boolean {
  const fold = foldOf(log);
  const custody = taskCustodyOf(fold, task);
  const invocation = fold.invocations.get(run.replace('run-', 'inv-'));
  return openRunIds(custody).includes(run) || (invocation !== undefined && isPending(invocation));
}

describe('the cursor', () => {
  it('13.9-6: never goes back while the log only grows', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(anyHistory, { minLength: 1, maxLength: 5 }), async (batches) => {
        await using ledger = await openLedger('memory:');
        let position: JsonObject | null = null;
        let stood = 0;
        for (const batch of batches) {
          await ledger.append(batch).catch(() => undefined);
          const result = await ledger.scan.settledAfter(position);
          if (result.outcome !== 'scanned') throw new Error('the log is unreadable');
          const seq = Number(result.next['seq']);
          expect(seq).toBeGreaterThanOrEqual(stood);
          expect(seq).toBe((await ledger.head()).seq);
          stood = seq;
          position = result.next;
        }
      }),
      { numRuns: 50 },
    );
  });
});

function copyOf(fold: CustodyFold): CustodyFold {
  const copy = new CustodyFold();
  for (const run of fold.runs.values()) copy.loadRun(structuredClone(run));
  for (const [id, item] of fold.invocations) copy.invocations.set(id, structuredClone(item));
  for (const item of fold.evidence.values()) copy.evidence.set(structuredClone(item));
  for (const [id, item] of fold.tasks) copy.tasks.set(id, structuredClone(item));
  for (const [id, item] of fold.containment) copy.containment.set(id, structuredClone(item));
  return copy;
}
