import type { JsonObject, Ledger } from '@custody/ledger';
import { openLedger } from '@custody/ledger';
import { createReconciler } from '@custody/reconciler';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { collect } from '../support/collect.ts';
import { settled, started } from '../support/events.ts';
import type { PostgresServer } from '../support/postgres-server.ts';
import { startPostgres } from '../support/postgres-server.ts';
import { failedRow, listOf, putRow } from '../support/terminal-rows.ts';

/** Runs of one append. */
const BATCH = 500;

/** Appends starts and ends of runs, two events each, whose tasks are named after them. */
async function appendRuns(ledger: Ledger, name: string, count: number): Promise<void> {
  for (let first = 0; first < count; first += BATCH) {
    const runs = Array.from(
      { length: Math.min(BATCH, count - first) },
      (_, index) => `${name}-${first + index}`,
    );
    await ledger.append(
      runs.flatMap((run) => [started(run, `t-${run}`), settled(run, { task_id: `t-${run}` })]),
    );
  }
}

async function positionOf(ledger: Ledger): Promise<JsonObject> {
  let position: JsonObject | null = null;
  for (;;) {
    const result = await ledger.scan.settledAfter(position);
    if (result.outcome !== 'scanned') throw new Error('the log is unreadable');
    if (!result.moved) return result.next;
    position = result.next;
  }
}

/** Every task that a scan names from a position on. */
async function tasksAfter(ledger: Ledger, from: JsonObject): Promise<ReadonlySet<string>> {
  const tasks = new Set<string>();
  let position = from;
  for (;;) {
    const result = await ledger.scan.settledAfter(position);
    if (result.outcome !== 'scanned') throw new Error('the log is unreadable');
    if (!result.moved) return tasks;
    for (const id of result.task_ids) tasks.add(id);
    position = result.next;
  }
}

describe('a backup of a PostgreSQL server that was put back', () => {
  let server: PostgresServer;

  beforeAll(async () => {
    server = await startPostgres();
  });

  afterAll(async () => {
    await server.stop();
  });

  it('P7: cursors notice it; nothing is skipped, and nothing is healed twice', async () => {
    await using ledger = await openLedger(server.url);
    await appendRuns(ledger, 'kept', 5_000);
    await putRow(ledger, failedRow('t-kept-7', ['kept-7']));
    await putRow(ledger, failedRow('t-open-1', ['late-1']));
    await createReconciler(ledger).sweep();
    const { seq: atBackup } = await ledger.head();
    expect(atBackup).toBeGreaterThanOrEqual(10_000);

    const putBack = await server.backup();
    await appendRuns(ledger, 'lost', 2_500);
    await createReconciler(ledger).sweep();
    const position = await positionOf(ledger);
    const lost = await ledger.head();
    await putBack();

    // The handle goes on; what it had learned is not in the log any more.
    expect((await ledger.head()).seq).toBe(atBackup);
    expect((await ledger.verify({ expectHead: lost })).problems.map(({ code }) => code)).toEqual([
      'truncated',
    ]);
    const again = await tasksAfter(ledger, position);
    expect(again.size).toBe(5_000);
    expect(again).not.toContain('t-lost-1');

    // Other events under the old places, and beyond them.
    await appendRuns(ledger, 'other', 2_600);
    await putRow(ledger, failedRow('t-other-9', ['other-9']));
    const whole = await tasksAfter(ledger, position);
    expect(whole.size).toBe(7_600);
    await createReconciler(ledger).sweep();
    await createReconciler(ledger).sweep();

    expect(await listOf(ledger, 't-kept-7')).toEqual([]);
    expect(await listOf(ledger, 't-other-9')).toEqual([]);
    const heals = (await collect(ledger.read({ type: 'custody.reconciled' }))).map(
      ({ event }) => event['task_id'],
    );
    expect(new Set(heals).size).toBe(heals.length);
    expect(heals).toEqual(expect.arrayContaining(['t-kept-7', 't-other-9']));
    expect(await ledger.verify({ rebuild: true })).toMatchObject({ ok: true });
    expect((await ledger.verify({ expectHead: lost })).problems.map(({ code }) => code)).toEqual([
      'head_not_in_chain',
    ]);
  });
});
