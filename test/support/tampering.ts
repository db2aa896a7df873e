import { createHash } from 'node:crypto';
import fc from 'fast-check';
import { countFigures } from './figures.ts';

/** A store in the hands of somebody who owns it: plain SQL, with the guards switched off. */
export interface TamperedStore {
  /** Its name, as the column `ledger` has it. */
  readonly ledger: string;
  /** Where one of its tables is, as SQL names it. */
  readonly placeOf: (table: string) => string;
  /** Bytes as an expression of SQL for the text that they are. */
  readonly textOf: (bytes: Buffer) => string;
  /** A byte with some of its bits turned over; what the store takes no text with is another byte. */
  readonly flipped: (byte: number, mask: number) => number;
  readonly run: (statement: string) => Promise<unknown>;
  readonly rows: (query: string) => Promise<readonly Readonly<Record<string, unknown>>[]>;
}

/** Columns of an event that stand beside its text, and say what it says. */
const COLUMNS = ['hash', 'id', 'type', 'task_id', 'run_id'] as const;

/** What an intruder does to the log; `at` is the event that he wants to be another one. */
export type Tampering =
  | { readonly kind: 'flip'; readonly at: number; readonly byte: number; readonly mask: number }
  | { readonly kind: 'column'; readonly at: number; readonly column: (typeof COLUMNS)[number] }
  | { readonly kind: 'remove' | 'insert' | 'swap' | 'truncate' | 'rewrite' | 'below'; readonly at: number };

/** Each kind of tampering, with how often it was tried. */
export type TamperingTally = Record<Tampering['kind'], number>;

/** None tried yet. */
export function noTamperings(): TamperingTally {
  return { flip: 0, column: 0, remove: 0, insert: 0, swap: 0, truncate: 0, rewrite: 0, below: 0 };
}

/** Prints what was tried. */
export function tellTamperings(on: string, found: Readonly<Record<string, number>>): void {
  const total = Object.values(found).reduce((sum, count) => sum + count, 0);
  const kinds = Object.entries(found).map(([kind, count]) => `${kind} ${count}`);
  countFigures('tamperings', [[on, total]]);
  process.stdout.write(`tampered with ${on}: ${total}, all named (${kinds.join(', ')})\n`);
}

/** Any tampering with a log of so many events, two at least. */
export const anyTampering: fc.Arbitrary<(events: number) => Tampering> = fc.oneof(
  fc.tuple(fc.nat(), fc.nat(), fc.integer({ min: 1, max: 255 })).map(
    ([at, byte, mask]) =>
      (events: number): Tampering => ({ kind: 'flip', at: (at % events) + 1, byte, mask }),
  ),
  fc.tuple(fc.nat(), fc.constantFrom(...COLUMNS)).map(
    ([at, column]) =>
      (events: number): Tampering => ({ kind: 'column', at: (at % events) + 1, column }),
  ),
  {
    weight: 3,
    arbitrary: fc
      .tuple(fc.constantFrom('remove', 'insert', 'swap', 'truncate', 'rewrite', 'below'), fc.nat())
      .map(
        ([kind, at]) =>
          (events: number): Tampering => ({ kind, at: (at % (events - 1)) + 1 }),
      ),
  },
);

/** An event as the table holds it. */
interface EventRow {
  readonly seq: number;
  readonly text: string;
  readonly hash: string;
}

/** Does it. Answers the place that must be named first. */
export async function tamper(store: TamperedStore, tampering: Tampering): Promise<number> {
  const { kind, at } = tampering;
  const event = store.placeOf('event');
  switch (kind) {
    case 'flip': {
      const bytes = Buffer.from((await eventAt(store, at)).text);
      const place = tampering.byte % bytes.length;
      bytes[place] = store.flipped(bytes[place] ?? 0, tampering.mask);
      await store.run(`update ${event} set text = ${store.textOf(bytes)} where seq = ${at}`);
      return at;
    }
    case 'column': {
      const other = tampering.column === 'hash' ? 'f'.repeat(64) : 'x.forged';
      await store.run(`update ${event} set ${tampering.column} = '${other}' where seq = ${at}`);
      return at;
    }
    case 'remove':
      await store.run(`delete from ${event} where seq = ${at}`);
      return at + 1;
    case 'insert': {
      // Under another id, with everything behind it moved up: the numbers are right, the chain is not.
      await store.run(`update ${event} set seq = -seq - 1 where seq >= ${at}`);
      await store.run(`update ${event} set seq = -seq where seq < 0`);
      await insert(store, at);
      return at;
    }
    case 'below':
      // Where no reader of the log begins, but a look by id finds it.
      await insert(store, LOWEST);
      return LOWEST;
    case 'swap': {
      const [left, right] = [await eventAt(store, at), await eventAt(store, at + 1)];
      await setEvent(store, { ...right, seq: at });
      await setEvent(store, { ...left, seq: at + 1 });
      return at;
    }
    case 'truncate':
      await store.run(`delete from ${event} where seq >= ${at}`);
      await setHead(store);
      return at - 1;
    case 'rewrite': {
      // He can do sums: from here on every hash is made anew, and the head fits.
      const { text } = await eventAt(store, at);
      const before = at === 1 ? '0'.repeat(64) : (await eventAt(store, at - 1)).hash;
      await setEvent(store, { seq: at, text: text.replace('"at":"20', '"at":"19'), hash: before });
      await rechain(store, at, before);
      await setHead(store);
      return at;
    }
  }
}

/** Far below the first event, and still a number that JavaScript tells from its neighbours. */
const LOWEST = Number.MIN_SAFE_INTEGER;

async function insert(store: TamperedStore, seq: number): Promise<void> {
  const text = JSON.stringify({ seq, id: 'forged', type: 'x.forged' });
  await store.run(
    `insert into ${store.placeOf('event')} (ledger, seq, id, type, hash, text)
     values ('${store.ledger}', ${seq}, 'forged', 'x.forged', '${'0'.repeat(64)}', '${text}')`,
  );
}

async function rechain(store: TamperedStore, from: number, before: string): Promise<void> {
  let hash = before;
  const event = store.placeOf('event');
  const rows = await store.rows(`select seq, text from ${event} where seq >= ${from} order by seq`);
  for (const { seq, text } of rows) {
    hash = createHash('sha256').update(hash).update(String(text)).digest('hex');
    await store.run(`update ${event} set hash = '${hash}' where seq = ${Number(seq)}`);
  }
}

async function eventAt(store: TamperedStore, seq: number): Promise<EventRow> {
  const [row] = await store.rows(`select seq, text, hash from ${store.placeOf('event')} where seq = ${seq}`);
  if (row === undefined) throw new Error(`there is no event ${seq}`);
  return { seq, text: String(row['text']), hash: String(row['hash']) };
}

async function setEvent(store: TamperedStore, { seq, text, hash }: EventRow): Promise<void> {
  await store.run(
    `update ${store.placeOf('event')} set text = ${store.textOf(Buffer.from(text))}, hash = '${hash}' where seq = ${seq}`,
  );
}

async function setHead(store: TamperedStore): Promise<void> {
  const event = store.placeOf('event');
  await store.run(`update ${store.placeOf('ledger_head')}
    set seq = coalesce((select max(seq) from ${event}), 0),
      hash = coalesce((select hash from ${event} order by seq desc limit 1), '${'0'.repeat(64)}')
    where ledger = '${store.ledger}'`);
}
