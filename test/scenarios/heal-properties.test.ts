import type { JsonObject, Ledger, NewEvent } from '@custody/ledger';
import { isTerminalStatus, LIVE_KEYS } from '@custody/ledger';
import { createReconciler } from '@custody/reconciler';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { OpenStore } from '../contract/stores.ts';
import { STORES } from '../contract/stores.ts';
import { collect } from '../support/collect.ts';
import { fingerprint, putRow } from '../support/terminal-rows.ts';

const task = fc.constantFrom('t-1', 't-2', 't-3');
const run = fc.constantFrom('r-1', 'r-2', 'r-3', 'r-4');
const maybe = <T>(value: fc.Arbitrary<T>) => fc.option(value, { nil: undefined });

const anyEvent: fc.Arbitrary<NewEvent> = fc.oneof(
  fc.record({
    type: fc.constant('run.started'),
    run_id: run,
    task_id: task,
    snapshot_id: fc.constantFrom('', 's-1', 's-2'),
    project_id: fc.constantFrom('', 'p-1'),
    project_owned: fc.boolean(),
    source: fc.constantFrom('', 'review_substrate.panel'),
    continuation_of: fc.constantFrom('', 'r-1'),
    capture_id: fc.constantFrom('', 'c-1'),
    invocation_id: fc.constantFrom('', 'i-1'),
  }),
  fc.record({
    type: fc.constant('run.settled'),
    run_id: run,
    task_id: task,
    state: fc.constantFrom('succeeded', 'failed', 'cancelled'),
    cost_usd: fc.constantFrom(0.5, 1.25, null),
    spend_disclosed: fc.boolean(),
    model: fc.constantFrom('', 'm-1', 'm-2'),
  }),
  fc.record({ type: fc.constant('run.closed_absent'), run_id: run, task_id: task }),
  fc.record({
    type: fc.constant('run.start_requested'),
    invocation_id: fc.constantFrom('i-1', 'i-2'),
    task_id: task,
  }),
  fc.record({
    type: fc.constant('run.start_failed'),
    invocation_id: fc.constantFrom('i-1', 'i-2'),
    definite: fc.boolean(),
  }),
  fc.record({
    type: fc.constant('patch.disposed'),
    run_id: run,
    disposition: fc.constantFrom('applied', 'rejected'),
  }),
  fc.record({ type: fc.constant('project.retired'), run_id: run, project_id: fc.constant('p-1') }),
);

const anyRow: fc.Arbitrary<JsonObject & { task_id: string }> = fc.record({
  task_id: task,
  status: fc.constantFrom('running', 'failed', 'completed'),
  note: fc.string(),
  delegated_runs_unreconciled: maybe(fc.array(fc.constantFrom('r-1', 'r-9', 'patch:r-2'), { maxLength: 2 })),
  delegated_runs_started: maybe(fc.constantFrom(0, 1, 2)),
  actual_substrate: maybe(fc.constantFrom('harness_used', 'native_only')),
  subagent_envelope: maybe(
    fc.record({
      executor_route: fc.string(),
      execution_evidence: maybe(fc.record({ delegated_runs_settled: fc.constantFrom(0, 1) })),
    }),
  ),
});

type Step =
  | { readonly kind: 'append'; readonly events: readonly NewEvent[] }
  | { readonly kind: 'put'; readonly row: JsonObject & { task_id: string } }
  | { readonly kind: 'backfill' | 'sweep' };

const anyStep: fc.Arbitrary<Step> = fc.oneof(
  fc.record({
    kind: fc.constant('append' as const),
    events: fc.array(anyEvent, { minLength: 1, maxLength: 4 }),
  }),
  fc.record({ kind: fc.constant('put' as const), row: anyRow }),
  fc.record({ kind: fc.constantFrom('backfill' as const, 'sweep' as const) }),
);

/** The exact texts of the fields that no healer may change, by task. */
async function frozenTexts(ledger: Ledger): Promise<Map<string, string>> {
  const rows = await collect(ledger.rows.list({}));
  return new Map(
    rows
      .filter(({ row }) => isTerminalStatus(row.status))
      .map(({ row }) => {
        const texts = [...row.raw].filter(([key]) => !LIVE_KEYS.includes(key) && key !== 'subagent_envelope');
        const envelope = row.value['subagent_envelope'] as JsonObject | undefined;
        return [
          row.task_id,
          JSON.stringify([texts.sort(([a], [b]) => (a < b ? -1 : 1)), envelope?.['executor_route'] ?? null]),
        ];
      }),
  );
}

async function evidenceCount(ledger: Ledger): Promise<number> {
  return (await collect(ledger.read())).filter(({ event }) => /^custody\.(un)?reconciled$/.test(event.type))
    .length;
}

async function take(ledger: Ledger, step: Step): Promise<readonly string[]> {
  const reconciler = createReconciler(ledger);
  switch (step.kind) {
    case 'append':
      await ledger.append(step.events);
      return [];
    case 'put':
      await putRow(ledger, step.row).catch(() => undefined);
      return [];
    case 'backfill':
    case 'sweep': {
      const report = await reconciler[step.kind]();
      if ('outcome' in report) throw new Error('refused');
      return report.refreshed;
    }
  }
}

/** Takes the steps and holds every law after them. */
async function expectLaws(store: OpenStore, steps: readonly Step[]): Promise<void> {
  const { ledger } = store;
  let changes = 0;
  for (const step of steps) {
    const before = await frozenTexts(ledger);
    changes += (await take(ledger, step)).length;
    if (step.kind === 'backfill' || step.kind === 'sweep') expect(await frozenTexts(ledger)).toEqual(before);
  }
  changes += (await take(ledger, { kind: 'backfill' })).length;
  expect(await evidenceCount(ledger)).toBe(changes);

  const still = await fingerprint(store);
  expect(await take(ledger, { kind: 'backfill' })).toEqual([]);
  expect(await fingerprint(store)).toEqual(still);

  const { tasks } = await createReconciler(ledger).audit(['t-1', 't-2', 't-3']);
  const disclosing = tasks.filter(
    (item) => item.terminal && (item.audit.unreconciled.length > 0 || (item.stored as unknown[]).length > 0),
  );
  expect(disclosing.filter((item) => !item.current)).toEqual([]);
  expect(await ledger.verify({ rebuild: true })).toMatchObject({ ok: true, problems: [] });
}

// On disk every step costs files and syncs; the laws are the same, so fewer histories do there.
const RUNS: Readonly<Record<string, number>> = { memory: 500, sqlite: 100 };

describe.each(STORES)('laws of healing on $name', (kind) => {
  test('13.9: frozen fields never change (P4), evidence counts the changes (P6), a second pass writes nothing (P5), and rows end true (P3)', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(anyStep, { minLength: 1, maxLength: 14 }), async (steps) => {
        const store = await kind.open();
        try {
          await expectLaws(store, steps);
        } finally {
          await store.dispose();
        }
      }),
      { numRuns: RUNS[kind.name] ?? 30 },
    );
  });
});
