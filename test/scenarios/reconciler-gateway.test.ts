import { createReconciler } from '@custody/reconciler';
import { describe, expect, test } from 'vitest';
import { STORES } from '../contract/stores.ts';
import { started } from '../support/events.ts';
import { ended, executor } from '../support/executor.ts';
import { failedRow, listOf, putRow } from '../support/terminal-rows.ts';

describe.each(STORES)("a reconciler's gateway on $name", (kind) => {
  async function orphan() {
    const { ledger } = await kind.open();
    await ledger.append([started('run-1', 't-1')]);
    await putRow(ledger, failedRow('t-1', ['run-1']));
    const daemon = executor();
    daemon.runs.set('run-1', ended());
    return { ledger, daemon };
  }

  test('may be handed in, and stays open for its owner', async () => {
    const { ledger, daemon } = await orphan();

    const report = await createReconciler(ledger, { liveTaskIds: [], gateway: daemon }).sweep();

    expect(report).toMatchObject({
      refreshed: ['t-1'],
      orphans: [{ run_id: 'run-1', action: 'settle_attempted' }],
    });
    expect(await listOf(ledger, 't-1')).toEqual([]);
    expect(daemon.isClosed).toBe(false);
  });

  test('may be built when there is work, and is closed after it', async () => {
    const { ledger, daemon } = await orphan();

    const report = await createReconciler(ledger, { liveTaskIds: [], gateway: () => daemon }).sweep();

    expect(report).toMatchObject({ refreshed: ['t-1'] });
    expect(daemon.isClosed).toBe(true);
  });
});
