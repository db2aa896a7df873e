import { createHash } from 'node:crypto';
import type { RawSqlite } from './raw-sqlite.ts';
import { openRawSqlite } from './raw-sqlite.ts';

/** An event as the table holds it. */
interface EventRow {
  readonly seq: number;
  readonly text: string;
  readonly hash: string;
}

/** What an intruder does to the log; `at` is the event that he wants to be another one. */
export type Tampering =
  | { readonly kind: 'flip'; readonly at: number; readonly byte: number; readonly mask: number }
  | { readonly kind: 'remove' | 'insert' | 'swap' | 'truncate' | 'rewrite'; readonly at: number };

/**
 * Changes a database file as somebody does who knows it: the triggers are taken out and put back as they were.
 * Answers the place that must be named.
 */
export function tamper(path: string, tampering: Tampering): number {
  const db = openRawSqlite(path);
  try {
    const triggers = db.prepare(`select name, sql from sqlite_master where type = 'trigger'`).all() as {
      name: string;
      sql: string;
    }[];
    for (const { name } of triggers) db.exec(`drop trigger ${name}`);
    const place = change(db, tampering);
    for (const { sql } of triggers) db.exec(sql);
    return place;
  } finally {
    db.close();
  }
}

function change(db: RawSqlite, tampering: Tampering): number {
  const { kind, at } = tampering;
  switch (kind) {
    case 'flip': {
      const text = eventAt(db, at).text;
      const bytes = Buffer.from(text);
      const place = tampering.byte % bytes.length;
      bytes[place] = (bytes[place] ?? 0) ^ tampering.mask;
      db.exec(`update event set text = cast(x'${bytes.toString('hex')}' as text) where seq = ${at}`);
      return at;
    }
    case 'remove':
      db.exec(`delete from event where seq = ${at}`);
      return at + 1;
    case 'insert': {
      // A copy under another id, with everything behind it moved up: the numbers are right, the chain is not.
      db.exec(`update event set seq = -seq - 1 where seq >= ${at}`);
      db.exec(`update event set seq = -seq where seq < 0`);
      const text = JSON.stringify({ seq: at, id: 'forged', type: 'x.forged' });
      db.exec(
        `insert into event select ledger, ${at}, 'forged', 'x.forged', null, null, hash, '${text}' from event where seq = ${at + 1}`,
      );
      return at;
    }
    case 'swap': {
      const [left, right] = [eventAt(db, at), eventAt(db, at + 1)];
      setEvent(db, { ...right, seq: at });
      setEvent(db, { ...left, seq: at + 1 });
      return at;
    }
    case 'truncate':
      db.exec(`delete from event where seq >= ${at}`);
      setHead(db);
      return at - 1;
    case 'rewrite': {
      // He can do sums: from here on every hash is made anew, and the head fits.
      const event = eventAt(db, at);
      const before = at === 1 ? '0'.repeat(64) : eventAt(db, at - 1).hash;
      setEvent(db, { seq: at, text: event.text.replace('"at":"20', '"at":"19'), hash: before });
      rechain(db, at, before);
      setHead(db);
      return at;
    }
  }
}

function rechain(db: RawSqlite, from: number, before: string): void {
  let hash = before;
  for (const { seq, text } of db
    .prepare(`select seq, text, hash from event where seq >= ${from} order by seq`)
    .all() as EventRow[]) {
    hash = createHash('sha256').update(hash).update(text).digest('hex');
    db.exec(`update event set hash = '${hash}' where seq = ${seq}`);
  }
}

function eventAt(db: RawSqlite, seq: number): EventRow {
  const row = db.prepare('select seq, text, hash from event where seq = ?').get(seq);
  if (row === undefined) throw new Error(`there is no event ${seq}`);
  return row as EventRow;
}

function setEvent(db: RawSqlite, { seq, text, hash }: EventRow): void {
  db.exec(
    `update event set text = cast(x'${Buffer.from(text).toString('hex')}' as text), hash = '${hash}' where seq = ${seq}`,
  );
}

function setHead(db: RawSqlite): void {
  db.exec(`update ledger_head set seq = coalesce((select max(seq) from event), 0),
    hash = coalesce((select hash from event order by seq desc limit 1), '${'0'.repeat(64)}')`);
}
