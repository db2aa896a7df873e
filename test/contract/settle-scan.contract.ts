import type { JsonObject, Ledger, SettleScanResult } from '@custody/ledger';
import { describe, expect, it } from 'vitest';
import { event, requested, settled, started } from '../support/events.ts';
import type { StoreKind } from './stores.ts';

/** How every store finds the tasks whose runs settled since a position. */
export function describeSettleScan(store: StoreKind): void {
  describe(`the settle scan of ${store.name}`, () => {
    it('finds nothing in an empty ledger, and does not move', async () => {
      const { ledger } = await store.open();

      expect(await scan(ledger, null)).toMatchObject({ task_ids: [], scanned: 0, moved: false });
    });

    it('names each task of a settled or absent run once, in the order of the log', async () => {
      const { ledger } = await store.open();
      await ledger.append([
        started('run-1', 't-1'),
        requested('inv-9', 't-9'),
        started('run-2', 't-2'),
        event('run.closed_absent', { run_id: 'run-2' }),
        settled('run-1'),
        settled('run-1', { state: 'failed' }),
        settled('run-early', { task_id: 't-early' }),
        event('patch.captured', { run_id: 'run-1' }),
      ]);

      const found = await scan(ledger, null);

      expect(found).toMatchObject({ task_ids: ['t-2', 't-1', 't-early'], moved: true });
    });

    it('goes on where it stood, and stands still when nothing came', async () => {
      const { ledger } = await store.open();
      await ledger.append([started('run-1', 't-1'), settled('run-1')]);
      const first = await scan(ledger, null);
      await ledger.append([started('run-2', 't-2'), settled('run-2')]);

      const second = await scan(ledger, first.next);
      const third = await scan(ledger, second.next);

      expect(second).toMatchObject({ task_ids: ['t-2'], moved: true });
      expect(third).toMatchObject({ task_ids: [], scanned: 0, moved: false, next: second.next });
    });

    it('moves over events that settle nothing', async () => {
      const { ledger } = await store.open();
      await ledger.append([started('run-1', 't-1')]);

      const found = await scan(ledger, null);

      expect(found).toMatchObject({ task_ids: [], moved: true });
      expect(await scan(ledger, found.next)).toMatchObject({ moved: false });
    });

    it('survives being written down as JSON', async () => {
      const { ledger } = await store.open();
      await ledger.append([started('run-1', 't-1'), settled('run-1')]);
      const { next } = await scan(ledger, null);

      const restored = JSON.parse(JSON.stringify(next)) as JsonObject;

      expect(await scan(ledger, restored)).toMatchObject({ task_ids: [], moved: false });
    });

    it.each([
      ['of another ledger', async () => (await filled(store)).next],
      ['beyond the end', async (next: JsonObject) => ({ ...next, seq: 99, offset: 1e9 })],
      ['that is no position', async () => ({ any: 'thing' })],
      ['with a seq that is text', async (next: JsonObject) => ({ ...next, seq: '2', offset: '2' })],
      ['before the beginning', async (next: JsonObject) => ({ ...next, seq: -1, offset: -1 })],
    ])('P7: starts again at the beginning from a position %s', async (_case, toPosition) => {
      const { ledger, next } = await filled(store);

      expect(await scan(ledger, await toPosition(next))).toMatchObject({ task_ids: ['t-1'] });
    });

    it('P7: names every settled task exactly once over any number of scans', async () => {
      const { ledger } = await store.open();
      const found: string[] = [];
      let position: JsonObject | null = null;

      for (let index = 0; index < 30; index += 1) {
        await ledger.append([started(`run-${index}`, `t-${index}`), settled(`run-${index}`)]);
        if (index % 7 !== 0) continue;
        const result: Scanned = await scan(ledger, position);
        found.push(...result.task_ids);
        position = result.next;
      }
      found.push(...(await scan(ledger, position)).task_ids);

      expect(found).toEqual(Array.from({ length: 30 }, (_, index) => `t-${index}`));
    });
  });
}

type Scanned = Extract<SettleScanResult, { outcome: 'scanned' }>;

async function scan(ledger: Ledger, position: JsonObject | null): Promise<Scanned> {
  const result = await ledger.scan.settledAfter(position);
  if (result.outcome !== 'scanned') throw new Error('the log is unreadable');
  return result;
}

async function filled(store: StoreKind) {
  const { ledger } = await store.open();
  await ledger.append([started('run-1', 't-1'), settled('run-1')]);
  return { ledger, next: (await scan(ledger, null)).next };
}
