import { describe, expect, it } from 'vitest';
import type { StoreKind } from './stores.ts';

/** Documents of clients of a served ledger. A store that only observes keeps none. */
export function describeRecords(store: StoreKind): void {
  describe(`records in ${store.name}`, () => {
    it.each([
      ['nothing', ''],
      ['text', 'héllo ✓'],
      ['a byte order mark', '\uFEFFx'],
      ['NUL', 'a\u0000b'],
      ['line ends of all kinds', 'a\r\nb\nc\r\u2028'],
      ['characters beyond the first plane', '𝄞🎼'],
      ['a million characters', 'ü'.repeat(1_000_000)],
    ])('gives back exactly what was put: %s', async (_name, text) => {
      const { records } = (await store.open()).ledger;

      await records.put('r-1', text);

      expect(await records.get('r-1')).toBe(text);
    });

    it('keeps the newest text of an id, and null stands for one that was never put', async () => {
      const { ledger } = await store.open();
      expect(await ledger.records.get('r-1')).toBeNull();

      await ledger.records.put('r-1', 'first');
      await ledger.records.put('r-2', 'another');
      await ledger.records.put('r-1', 'second');

      expect([await ledger.records.get('r-1'), await ledger.records.get('r-2')]).toEqual([
        'second',
        'another',
      ]);
    });

    it('writes no event, and verify --rebuild finds nothing', async () => {
      const { ledger } = await store.open();

      await ledger.records.put('r-1', 'x');

      expect((await ledger.head()).seq).toBe(0);
      expect(await ledger.verify({ rebuild: true })).toMatchObject({ ok: true, problems: [] });
    });

    it.each(['', '-a', 'a/b', 'a b', 'ü', 'x'.repeat(129)])('refuses the id %j', async (id) => {
      const { records } = (await store.open()).ledger;

      await expect(records.put(id, 'x')).rejects.toMatchObject({ code: 'invalid_option' });
      await expect(records.get(id)).rejects.toMatchObject({ code: 'invalid_option' });
    });

    it('refuses a text that UTF-8 can not hold, and keeps what was there', async () => {
      const { records } = (await store.open()).ledger;
      await records.put('r-1', 'kept');

      await expect(records.put('r-1', 'a\uD834')).rejects.toMatchObject({ code: 'invalid_option' });

      expect(await records.get('r-1')).toBe('kept');
    });
  });
}

/** What a second handle sees, where there can be one. */
export function describeSharedRecords(store: StoreKind): void {
  describe(`records in ${store.name}, with several handles`, () => {
    it('are there for another handle at once, and after the store was opened anew', async () => {
      const open = await store.open();
      const other = await open.another();

      await open.ledger.records.put('r-1', 'x');

      expect(await other.records.get('r-1')).toBe('x');
      expect(await (await open.reopen()).records.get('r-1')).toBe('x');
    });

    it('X5 can not be put by a handle of an older epoch, which may still read', async () => {
      const open = await store.open();
      const other = await open.another();
      await open.ledger.records.put('r-1', 'kept');
      await other.raiseEpoch('somebody takes over');

      await expect(open.ledger.records.put('r-1', 'x')).rejects.toMatchObject({
        code: 'stale_epoch',
        offered: 1,
        current: 2,
      });

      expect(await open.ledger.records.get('r-1')).toBe('kept');
      await other.records.put('r-1', 'by the new one');
      expect(await open.ledger.records.get('r-1')).toBe('by the new one');
    });
  });
}
