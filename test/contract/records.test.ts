import { describe, expect, it } from 'vitest';
import { openRawSqlite } from '../support/raw-sqlite.ts';
import { describeRecords, describeSharedRecords } from './records.contract.ts';
import { DURABLE_STORES, STORES } from './stores.ts';

const keepsRecords = (store: { readonly chain: string }): boolean => store.chain === 'printed';

for (const store of STORES.filter(keepsRecords)) describeRecords(store);
for (const store of DURABLE_STORES.filter(keepsRecords)) describeSharedRecords(store);

describe.each(STORES.filter((store) => !keepsRecords(store)))('a $name store', (store) => {
  it('keeps no records, and says where they can be kept', async () => {
    const { records } = (await store.open()).ledger;

    const refused = { code: 'not_supported', hint: expect.stringContaining('event import') };
    await expect(records.put('r-1', 'x')).rejects.toMatchObject(refused);
    await expect(records.get('r-1')).rejects.toMatchObject(refused);
  });
});

describe.each(STORES.filter((store) => store.name === 'sqlite'))('a plain SQL session on $name', (store) => {
  async function openWithSession() {
    const { ledger, directory } = await store.open();
    await ledger.records.put('r-1', 'kept');
    return { ledger, session: openRawSqlite(`${directory}/custody.db`) };
  }

  it.each([
    ['delete from served_record', /never deleted/],
    [
      `insert or replace into served_record (ledger, record_id, body, sha256) values ('main', 'r-1', x'', '')`,
      /never replaced/,
    ],
  ])('removes no record: %s', async (sql, reason) => {
    const { ledger, session } = await openWithSession();

    expect(() => session.exec(sql)).toThrow(reason);

    session.close();
    expect(await ledger.records.get('r-1')).toBe('kept');
  });

  it('that edits a record is found by verify', async () => {
    const { ledger, session } = await openWithSession();

    session.exec(`update served_record set body = x'00'`);

    session.close();
    expect((await ledger.verify()).problems).toEqual([
      { code: 'record_damaged', message: expect.stringContaining('r-1') },
    ]);
  });
});
