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

const HASH = keptQuery((db) =>
  db.selectFrom('event').select('hash').where('ledger', '=', '').where('seq', '=', 0),
);

/** The hash of the event at a place of the log, and so of everything before it; null if none is there. */
export async function hashAt(db: Db, ledger: string, seq: number): Promise<string | null> {
  const [event] = await HASH(db, [ledger, seq]);
  return event?.hash ?? null;
}
