import { StoreError } from '../../errors.ts';
import type { Head } from '../../ports/event-store.ts';
import { keptQuery } from './kept-query.ts';
import type { Db } from './tables.ts';

const HEAD = keptQuery((db) =>
  db.selectFrom('ledger_head').select(['seq', 'hash', 'epoch', 'incarnation']).where('ledger', '=', ''),
);

/** Where the log stands. */
export async function readHead(db: Db, ledger: string): Promise<Head> {
  const [row] = await HEAD(db, [ledger]);
  if (row === undefined) {
    throw new StoreError('store_corrupt', `the ledger ${ledger} has no head`, {
      hint: 'Run `custody verify`; restore from a backup if it fails.',
    });
  }
  return row;
}
