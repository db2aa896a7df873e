import { describe, expect, it } from 'vitest';
import { manualClock } from '../../support/manual-clock.ts';
import type { StoreKind } from './stores.ts';

/** The reconciler's small documents, and one leader among processes. */
export function describeStateAndLeader(store: StoreKind): void {
  describe(`documents in ${store.name}`, () => {
    it('gives back what was saved last, and null before that', async () => {
      const { state } = (await store.open()).ledger;
      expect(await state.load('cursor')).toBeNull();

      await state.save('cursor', { offset: 1, deferred: { 't-1': '2026-03-01T00:00:00.000Z' } });
      await state.save('parked', { items: [] });
      await state.save('cursor', { offset: 2, deferred: {}, text: 'ü€𝄞', none: null });

      expect(await state.load('cursor')).toEqual({ offset: 2, deferred: {}, text: 'ü€𝄞', none: null });
      expect(await state.load('parked')).toEqual({ items: [] });
    });

    it('keeps what was saved, not what its caller makes of it later', async () => {
      const { state } = (await store.open()).ledger;
      const document = { items: ['a'] };
      await state.save('parked', document);

      document.items.push('b');

      expect(await state.load('parked')).toEqual({ items: ['a'] });
    });
  });

  describe(`the leader's lease in ${store.name}`, () => {
    async function open() {
      const clock = manualClock('2026-03-01T00:00:00.000Z');
      const { leaders } = (await store.open({ clock })).ledger;
      return { clock, leaders };
    }

    it('has one holder until it runs out, and tells the others who that is', async () => {
      const { clock, leaders } = await open();

      expect(await leaders.tryLead('sweep', 'a', 10_000)).toEqual({
        outcome: 'leading',
        fence: 1,
        expires_at: '2026-03-01T00:00:10.000Z',
      });
      clock.advance(9_999);
      expect(await leaders.tryLead('sweep', 'b', 10_000)).toEqual({
        outcome: 'held',
        holder: 'a',
        expires_at: '2026-03-01T00:00:10.000Z',
      });
      clock.advance(1);
      expect(await leaders.tryLead('sweep', 'b', 10_000)).toMatchObject({ outcome: 'leading', fence: 2 });
      expect(await leaders.tryLead('sweep', 'a', 10_000)).toMatchObject({ outcome: 'held', holder: 'b' });
    });

    it('is renewed under its fence while it lasts, and gets a new one when it had run out', async () => {
      const { clock, leaders } = await open();
      await leaders.tryLead('sweep', 'a', 10_000);
      clock.advance(5_000);

      expect(await leaders.tryLead('sweep', 'a', 10_000)).toEqual({
        outcome: 'leading',
        fence: 1,
        expires_at: '2026-03-01T00:00:15.000Z',
      });
      clock.advance(10_000);
      expect(await leaders.tryLead('sweep', 'a', 10_000)).toMatchObject({ outcome: 'leading', fence: 2 });
    });

    it('is free at once after its holder resigned, and never counts its fence back', async () => {
      const { leaders } = await open();
      await leaders.tryLead('sweep', 'a', 10_000);

      await leaders.resign('sweep', 'a');

      expect(await leaders.tryLead('sweep', 'b', 10_000)).toMatchObject({ outcome: 'leading', fence: 2 });
      await leaders.resign('sweep', 'b');
      expect(await leaders.tryLead('sweep', 'b', 10_000)).toMatchObject({ outcome: 'leading', fence: 3 });
    });

    it('can’t be resigned by anybody else', async () => {
      const { leaders } = await open();
      await leaders.tryLead('sweep', 'a', 10_000);

      await leaders.resign('sweep', 'b');
      await leaders.resign('never-led', 'b');

      expect(await leaders.tryLead('sweep', 'b', 10_000)).toMatchObject({ outcome: 'held', holder: 'a' });
    });

    it('is one of many: names don’t share a lease', async () => {
      const { leaders } = await open();
      await leaders.tryLead('sweep', 'a', 10_000);

      expect(await leaders.tryLead('backfill', 'b', 10_000)).toMatchObject({ outcome: 'leading', fence: 1 });
    });

    it('has one winner when many try at once', async () => {
      const { leaders } = await open();
      const holders = Array.from({ length: 20 }, (_, index) => `h-${index}`);

      const answers = await Promise.all(holders.map((holder) => leaders.tryLead('sweep', holder, 10_000)));

      expect(answers.filter((answer) => answer.outcome === 'leading')).toHaveLength(1);
    });
  });
}
