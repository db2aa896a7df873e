import type { Ledger } from '@custody/ledger';
import { openLedger } from '@custody/ledger';
import type { CostEntry, CostLedger, OrphanOptions, RunLookup } from '@custody/reconciler';
import { createReconciler, reconcileOrphans } from '@custody/reconciler';
import { describe, expect, test } from 'vitest';
import { STORES } from '../contract/stores.ts';
import { settled, started } from '../support/events.ts';
import type { Executor } from '../support/executor.ts';
import { ended, executor } from '../support/executor.ts';
import { failingLedger } from '../support/failing-ledger.ts';
import { eventsOf, typesOf } from '../support/log.ts';
import { failedRow, listOf, putRow } from '../support/terminal-rows.ts';

/** An accounting system that keeps each key once. */
interface Books extends CostLedger {
  readonly entries: Map<string, CostEntry>;
  readonly calls: string[];
  fails: boolean;
}

function books(): Books {
  const self: Books = {
    entries: new Map<string, CostEntry>(),
    calls: [],
    fails: false,
    record: async (entry: CostEntry) => {
      self.calls.push(entry.key);
      if (self.fails) throw new Error('disk full');
      if (!self.entries.has(entry.key)) self.entries.set(entry.key, entry);
    },
  };
  return self;
}

function sweep(ledger: Ledger, more: Partial<OrphanOptions> = {}) {
  return reconcileOrphans(
    { ledger, rows: ledger.rows },
    { live: [], gateway: () => executor({ 'run-1': ended() }), ...more },
  );
}

describe.each(STORES)('settling on $name', (kind) => {
  test('8.4: the cost is booked first, then said, then the run ends', async () => {
    const { ledger } = await kind.open();
    await ledger.append([started('run-1', 't-1')]);
    const costs = books();

    const report = await sweep(ledger, { costs });

    expect(report.outcomes).toMatchObject([{ settled: true, ledger_recorded: true }]);
    expect(await typesOf(ledger)).toEqual([
      'run.started',
      'run.ledger_recorded',
      'run.settled',
      'run.reconciled',
    ]);
    expect(costs.entries.get('run-1')?.detail).toMatchObject({ cost_usd: 1.25 });
  });

  test('8.4: a cost that can not be booked leaves the run unsettled, told once, and the next sweep tries again', async () => {
    const { ledger } = await kind.open();
    await ledger.append([started('run-1', 't-1')]);
    const costs = books();
    costs.fails = true;

    const failed = await sweep(ledger, { costs });
    await sweep(ledger, { costs });

    expect(failed.outcomes).toMatchObject([
      { action: 'settle_attempted', settled: false, ledger_recorded: false, error: 'disk full' },
    ]);
    expect(failed.refresh).toEqual([]);
    expect(await eventsOf(ledger, 'run.settle_failed')).toMatchObject([
      { run_id: 'run-1', step: 'ledger_write', reason: 'disk full' },
    ]);
    expect((await ledger.custody.run('run-1'))?.settled).toBe(false);

    costs.fails = false;
    expect((await sweep(ledger, { costs })).outcomes).toMatchObject([{ settled: true }]);
  });

  test('F13: a booked cost whose event was lost is booked again under the same key, and counted once', async () => {
    const { ledger } = await kind.open();
    await ledger.append([started('run-1', 't-1')]);
    const costs = books();

    const lost = await sweep(
      failingLedger(ledger, (event) => event.type === 'run.ledger_recorded'),
      { costs },
    );
    const found = await sweep(ledger, { costs });

    expect(lost.outcomes).toMatchObject([{ settled: false, ledger_recorded: false }]);
    expect(found.outcomes).toMatchObject([{ settled: true }]);
    expect(costs.calls).toEqual(['run-1', 'run-1']);
    expect([...costs.entries.keys()]).toEqual(['run-1']);
  });

  test('a booked and recorded cost is not booked again by the sweep that ends the run', async () => {
    const { ledger } = await kind.open();
    await ledger.append([started('run-1', 't-1')]);
    const costs = books();

    await sweep(
      failingLedger(ledger, (event) => event.type === 'run.settled'),
      { costs },
    );
    await sweep(ledger, { costs });

    expect(costs.calls).toEqual(['run-1']);
    expect(await typesOf(ledger)).toEqual([
      'run.started',
      'run.ledger_recorded',
      'run.reconciled',
      'run.settled',
      'run.reconciled',
    ]);
  });

  test('O14: a persistent project is told as such and nothing of it is retired', async () => {
    const { ledger } = await kind.open();
    await ledger.append([
      started('run-1', 't-1', { project_id: 'p-1', project_owned: true, project_persistent: true }),
    ]);

    const report = await sweep(ledger);

    expect(report.outcomes).toMatchObject([
      { settled: true, project_persistent: true, project_retired: false },
    ]);
    expect(await eventsOf(ledger, 'project.retired', 'project.retire_failed')).toEqual([]);
    expect((await ledger.custody.run('run-1'))?.project_owned).toBe(true);
  });

  test('V13: an end that was faster stands; the sweep neither changes nor doubles it', async () => {
    const { ledger } = await kind.open();
    await ledger.append([started('run-1', 't-1')]);
    const daemon = executor({ 'run-1': ended({ state: 'failed', cost_usd: 9 }) });
    daemon.beforeLookup = async () => {
      await ledger.append([settled('run-1')]);
    };

    const report = await sweep(ledger, { gateway: () => daemon });

    expect(report.outcomes).toMatchObject([{ settled: true }]);
    expect(await eventsOf(ledger, 'run.settled')).toHaveLength(1);
    expect((await ledger.custody.run('run-1'))?.terminal_state).toBe('succeeded');
  });

  test('8.7: the rows of tasks whose runs ended are healed by the same sweep', async () => {
    const { ledger } = await kind.open();
    await ledger.append([started('run-1', 't-1')]);
    await putRow(ledger, failedRow('t-1', ['run-1']));
    const reconciler = createReconciler(ledger, {
      liveTaskIds: [],
      gateway: () => executor({ 'run-1': ended() }),
    });

    const report = await reconciler.sweep();

    expect(report).toMatchObject({
      refreshed: ['t-1'],
      orphans: [{ run_id: 'run-1', action: 'settle_attempted', settled: true }],
    });
    expect(await listOf(ledger, 't-1')).toEqual([]);
  });
});

test('O8: the orphan sweep and the cursor pass go by one source of who is alive', async () => {
  const ledger = await openLedger('memory:');
  await ledger.append([started('run-1', 't-1'), settled('run-1'), started('run-2', 't-1')]);
  await putRow(ledger, failedRow('t-1', ['run-1', 'run-2']));
  const daemon = executor({ 'run-2': ended() });
  let alive: readonly string[] = ['t-1'];
  const reconciler = createReconciler(ledger, { liveTaskIds: () => alive, gateway: () => daemon });

  const spared = await reconciler.sweep();
  alive = [];
  const healed = await reconciler.sweep();

  expect(spared).toMatchObject({ orphans: [], refreshed: [], deferred: ['t-1'] });
  expect(healed).toMatchObject({
    orphans: [{ run_id: 'run-2', settled: true }],
    refreshed: ['t-1'],
    deferred: [],
  });
  expect(await listOf(ledger, 't-1')).toEqual([]);
});

/** Executors of which none answers a lookup before all have been asked for everything. */
function inStep(answers: readonly Readonly<Record<string, RunLookup>>[]): readonly Executor[] {
  const daemons = answers.map(executor);
  let open: () => void = () => undefined;
  const gate = new Promise<void>((resolve) => {
    open = resolve;
  });
  for (const daemon of daemons) {
    daemon.beforeLookup = () => {
      if (daemons.every((item) => item.lookups.length === item.runs.size)) open();
      return gate;
    };
  }
  return daemons;
}

describe.each(STORES)('two sweeps at once on $name', (kind) => {
  test('O15: that find the same ends write each once', async () => {
    const { ledger } = await kind.open();
    const ids = Array.from({ length: 8 }, (_item, index) => `run-${index}`);
    await ledger.append(ids.map((id) => started(id, `t-${id}`)));
    const runs = Object.fromEntries(ids.map((id) => [id, ended()]));

    const reports = await Promise.all(
      inStep([runs, runs]).map((daemon) => sweep(ledger, { gateway: () => daemon })),
    );

    for (const report of reports)
      expect(report.outcomes.filter((outcome) => outcome.settled === true)).toHaveLength(8);
    expect(await eventsOf(ledger, 'run.settled')).toHaveLength(8);
    expect(await eventsOf(ledger, 'run.reconciled')).toHaveLength(8);
  });

  test('O15: that hear different ends of one run keep the first, and both call it settled', async () => {
    const { ledger } = await kind.open();
    await ledger.append([started('run-1', 't-1')]);
    const daemons = inStep([{ 'run-1': ended() }, { 'run-1': ended({ state: 'failed', cost_usd: 3 }) }]);

    const reports = await Promise.all(daemons.map((daemon) => sweep(ledger, { gateway: () => daemon })));

    expect(reports.map((report) => report.outcomes[0]?.settled)).toEqual([true, true]);
    const ends = await eventsOf(ledger, 'run.settled');
    expect(ends).toHaveLength(1);
    expect(await ledger.custody.run('run-1')).toMatchObject({
      terminal_state: ends[0]?.['state'],
      conflicting_verdicts: 0,
    });
  });
});
