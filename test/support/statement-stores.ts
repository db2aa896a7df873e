import { cpSync, mkdirSync, rmSync } from 'node:fs';
import { dirname, join } from 'node:path';
import type { Ledger } from '@custody/ledger';
import { openLedger } from '@custody/ledger';
import Database from 'better-sqlite3';
import { manualClock } from './manual-clock.ts';
import { plainSession, takeLedger } from './postgres.ts';

/** A store with a history, in the state before the work that is tried on it. */
interface FreshStore {
  readonly url: string;
  /** What `prepare` answered. */
  readonly held: Held;
  /** Everything that the tables hold of the ledger, without ids, hashes and the notes of passes. */
  state(): Promise<readonly string[]>;
  remove(): Promise<void>;
}

/** What commands on the history need. */
export type Held = Readonly<Record<string, string | number>>;

/** Makes the history of an operation. */
export type Prepare = (ledger: Ledger) => Promise<Held>;

/** Makes stores with the same history, each of its own. */
export type StoreMaker = () => Promise<FreshStore>;

/** When the histories are made. */
export const BEGAN = '2026-03-01T00:00:00.000Z';

const TABLES = [
  'event',
  'run',
  'invocation',
  'run_evidence',
  'task_facts',
  'containment',
  'task_row',
  'managed_task',
  'task_link',
  'lease',
  'submission',
  'question',
  'state_document',
];

async function history(url: string, prepare: Prepare): Promise<Held> {
  let ids = 0;
  await using ledger = await openLedger(url, {
    clock: manualClock(BEGAN),
    newId: () => {
      ids += 1;
      return `before-${String(ids).padStart(6, '0')}`;
    },
  });
  return await prepare(ledger);
}

/** Files of SQLite: the history is made once and copied. */
export async function sqliteStores(directory: string, prepare: Prepare): Promise<StoreMaker> {
  const pristine = join(directory, 'pristine', 'custody.db');
  mkdirSync(dirname(pristine), { recursive: true });
  const held = await history(`sqlite:${pristine}`, prepare);
  let count = 0;
  return async () => {
    count += 1;
    const place = join(directory, `store-${count}`);
    cpSync(dirname(pristine), place, { recursive: true });
    const path = join(place, 'custody.db');
    return {
      url: `sqlite:${path}`,
      held,
      state: async () => {
        const database = new Database(path);
        try {
          return comparable(
            TABLES.map((table) => [table, database.prepare(`select * from ${table}`).all() as Row[]]),
          );
        } finally {
          database.close();
        }
      },
      remove: async () => rmSync(place, { recursive: true, force: true }),
    };
  };
}

/** Ledgers of PostgreSQL: emptied, and given the history anew. */
export async function postgresStores(_directory: string, prepare: Prepare): Promise<StoreMaker> {
  return async () => {
    const place = await takeLedger();
    const held = await history(place.url, prepare);
    const { searchParams } = new URL(place.url);
    const sql = await plainSession();
    return {
      url: place.url,
      held,
      state: async () => {
        const tables: [string, Row[]][] = [];
        for (const table of TABLES) {
          const { rows } = await sql.query<Row>(
            `select * from ${String(searchParams.get('schema'))}.${table} where ledger = $1`,
            [searchParams.get('ledger')],
          );
          tables.push([table, rows]);
        }
        return comparable(tables);
      },
      remove: place.giveBack,
    };
  };
}

/** Waits until the server has noticed that these clients are gone, and has ended what they had begun. */
export async function untilGone(backends: readonly number[]): Promise<void> {
  if (backends.length === 0) return;
  const sql = await plainSession();
  for (;;) {
    const { rows } = await sql.query('select from pg_stat_activity where pid = any($1)', [backends]);
    if (rows.length === 0) return;
  }
}

type Row = Readonly<Record<string, unknown>>;

/**
 * Ids that the test's processes gave stand for their first place in the log, and hashes and signatures for nothing; nor does the place
 * up to which a sweep has read: one that is made again reads the events of the first as well.
 */
function comparable(tables: readonly (readonly [string, readonly Row[]])[]): readonly string[] {
  const names = new Map<string, string>();
  const nameOf = (id: string): string => {
    const name = names.get(id) ?? `id#${names.size + 1}`;
    names.set(id, name);
    return name;
  };
  return tables.flatMap(([table, rows]) =>
    [...rows]
      .filter(({ name }) => table !== 'state_document' || name !== 'last_pass')
      .sort((left, right) => Number(left['seq'] ?? 0) - Number(right['seq'] ?? 0))
      .map((row) => {
        const columns = Object.entries(row)
          .filter(([column]) => column !== 'ledger')
          .sort(([left], [right]) => (left < right ? -1 : 1))
          .map(([column, value]) => [column, typeof value === 'bigint' ? Number(value) : value]);
        return `${table} ${JSON.stringify(columns)}`
          .replaceAll(/\b(?:before|work|again)-\d{6}\b/g, nameOf)
          .replaceAll(/\b[0-9a-f]{64}\b/g, 'hash')
          .replaceAll(/\\"(incarnation|signature)\\":\\"[^"]*\\"/g, '$1')
          .replace(/\\"position\\":\{[^}]*\}/, 'position');
      })
      .sort((left, right) => (table === 'event' ? 0 : left < right ? -1 : 1)),
  );
}
