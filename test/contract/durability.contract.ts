import type { Ledger } from '@custody/ledger';
import { describe, expect, it } from 'vitest';
import { collect } from '../support/collect.ts';
import { event, requested, settled, started } from '../support/events.ts';
import { manualClock } from '../support/manual-clock.ts';
import { rowOf } from '../support/row.ts';
import { snapshotOf } from './snapshot.ts';
import type { StoreKind } from './stores.ts';
import { loadOrFail, updateOf } from './task-rows.contract.ts';

/** What a store keeps when it is closed, and how two handles on it share it. */
export function describeDurability(store: StoreKind): void {
  async function fill(ledger: Ledger): Promise<void> {
    await ledger.append([
      requested('inv-1', 't-1'),
      started('run-1', 't-1', {
        invocation_id: 'inv-1',
        snapshot_id: 's-1',
        project_id: 'p-1',
        project_owned: true,
      }),
      settled('run-1'),
      requested('inv-2', 't-2'),
      event('containment.fault', { run_id: 'run-1', reason: 'cancel_unverified' }),
      settled('run-early', { task_id: 't-3' }),
    ]);
    await ledger.rows.put([rowOf('t-1', { status: 'failed', delegated_runs_unreconciled: ['run-1'] })]);
    await ledger.rows.put([rowOf('t-2', { status: 'running' })]);
    await ledger.state.save('cursor', { offset: 3 });
  }

  describe(`a closed ${store.name}`, () => {
    it('P1: gives back everything when it is opened again', async () => {
      const opened = await store.open({ clock: manualClock() });
      await fill(opened.ledger);
      const before = await snapshotOf(opened.ledger);
      const { incarnation } = await opened.ledger.head();
      expect(opened.ledger.created).toBe(opened.isNew);

      const again = await opened.reopen();

      expect(again.created).toBe(false);
      expect(await snapshotOf(again)).toEqual(before);
      expect(await again.state.load('cursor')).toEqual({ offset: 3 });
      expect((await again.head()).incarnation).toBe(incarnation);
      expect(await again.verify({ rebuild: true })).toMatchObject({ ok: true, events: 6 });
    });

    it('goes on numbering, chaining and folding where it stood', async () => {
      const opened = await store.open();
      await fill(opened.ledger);

      const again = await opened.reopen();
      await again.append([
        started('run-early', 't-3'),
        event('patch.disposed', { run_id: 'run-1', disposition: 'applied' }),
      ]);

      expect(await again.head()).toMatchObject({ seq: 8 });
      expect(await again.custody.owingTaskIds()).toEqual(['t-2']);
      expect(await again.verify({ rebuild: true })).toMatchObject({ ok: true, events: 8 });
    });

    it('remembers leases and the ids of events', async () => {
      const clock = manualClock();
      const opened = await store.open({ clock });
      await opened.ledger.append([{ ...started('run-1', 't-1'), id: 'e-1' }]);
      await opened.ledger.leaders.tryLead('sweep', 'a', 10_000);

      const again = await opened.reopen();

      expect(await again.append([{ ...started('run-1', 't-1'), id: 'e-1' }])).toMatchObject({
        duplicates: 1,
      });
      expect(await again.leaders.tryLead('sweep', 'b', 10_000)).toMatchObject({
        outcome: 'held',
        holder: 'a',
      });
    });
  });

  describe(`two handles on one ${store.name}`, () => {
    it('see each other’s events, rows, documents and leases at once', async () => {
      const opened = await store.open({ clock: manualClock() });
      const other = await opened.another();

      await fill(opened.ledger);

      expect(await snapshotOf(other)).toEqual(await snapshotOf(opened.ledger));
      expect(await other.state.load('cursor')).toEqual({ offset: 3 });
      await other.leaders.tryLead('sweep', 'b', 10_000);
      expect(await opened.ledger.leaders.tryLead('sweep', 'a', 10_000)).toMatchObject({ outcome: 'held' });
    });

    it('append side by side without a gap, a fork or a lost fold', async () => {
      const opened = await store.open();
      const handles = [opened.ledger, await opened.another()];

      await Promise.all(
        Array.from({ length: 60 }, (_, index) =>
          handles.map((handle, side) =>
            handle.append([started(`run-${index}-${side}`, 't-1'), settled(`run-${index}-${side}`)]),
          ),
        ).flat(),
      );

      const events = await collect(opened.ledger.read());
      expect(events.map((item) => item.event.seq)).toEqual(
        Array.from({ length: 240 }, (_, index) => index + 1),
      );
      expect(await handles[1]?.verify({ rebuild: true })).toMatchObject({ ok: true, events: 240 });
    });

    it('write an id once', async () => {
      const opened = await store.open();
      const other = await opened.another();
      const same = { ...started('run-1', 't-1'), id: 'e-1' };

      const [first, second] = await Promise.all([opened.ledger.append([same]), other.append([same])]);

      expect([first.appended + second.appended, first.duplicates + second.duplicates]).toEqual([1, 1]);
      await expect(other.append([{ ...same, model: 'other' }])).rejects.toMatchObject({
        code: 'event_id_conflict',
      });
    });

    it('let one of two heals of the same row win', async () => {
      const opened = await store.open();
      const other = await opened.another();
      await opened.ledger.rows.put([rowOf('t-1', { status: 'failed' })]);
      const update = async (ledger: Ledger) => ({
        ...updateOf(await loadOrFail(ledger.rows, 't-1')),
        live: { delegated_runs_unreconciled: [] },
      });
      const [ours, theirs] = [await update(opened.ledger), await update(other)];

      const [[first], [second]] = await Promise.all([
        opened.ledger.rows.update([ours]),
        other.rows.update([theirs]),
      ]);

      expect(new Set([first?.outcome, second?.outcome])).toEqual(new Set(['updated', 'changed_meanwhile']));
      expect(await opened.ledger.head()).toMatchObject({ seq: 1 });
    });

    it('have one leader when both try at once', async () => {
      const opened = await store.open();
      const other = await opened.another();

      const answers = await Promise.all([
        opened.ledger.leaders.tryLead('sweep', 'a', 60_000),
        other.leaders.tryLead('sweep', 'b', 60_000),
      ]);

      expect(answers.filter((answer) => answer.outcome === 'leading')).toHaveLength(1);
    });

    it('go on when one of them is closed', async () => {
      const opened = await store.open();
      const other = await opened.another();
      await opened.ledger.append([started('run-1', 't-1')]);

      await opened.ledger.close();
      await other.append([settled('run-1')]);

      expect(await other.verify({ rebuild: true })).toMatchObject({ ok: true, events: 2 });
    });
  });
}
