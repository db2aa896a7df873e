import type { Kysely } from 'kysely';
import { sql } from 'kysely';
import { createLogTables } from '../sql/migrations/0001-ledger.ts';

/** The tables that follow from the log, and the log itself. */
const TABLES = ['ledger_head', 'event', 'run', 'invocation', 'run_evidence', 'task_facts', 'containment'];

/**
 * Brings a file of the first version to the layout that new files have: keys without the ledger's name, and rows
 * where their keys are. Every row is copied as it is.
 *
 * @returns false if the file has that layout already; nothing was changed then
 */
export async function putRowsInKeys(db: Kysely<unknown>): Promise<boolean> {
  if (!(await isKeyedByLedger(db))) return false;
  // A trigger or an index keeps its name when its table is renamed, and the new table needs it.
  await dropAll(db, 'trigger');
  await dropAll(db, 'index');
  for (const table of TABLES) await db.schema.alterTable(table).renameTo(`old_${table}`).execute();
  await createLogTables(db, 'one');
  for (const table of TABLES) await copyRows(db, table);
  return true;
}

async function isKeyedByLedger(db: Kysely<unknown>): Promise<boolean> {
  const { rows } = await sql<{
    name: string;
  }>`select name from pragma_table_info('run') where pk > 0`.execute(db);
  return rows.some((column) => column.name === 'ledger');
}

async function dropAll(db: Kysely<unknown>, type: 'trigger' | 'index'): Promise<void> {
  const { rows } = await sql<{ name: string }>`select name from sqlite_master
    where type = ${type} and sql is not null and (type = 'trigger' or tbl_name in (${sql.join(TABLES)}))`.execute(
    db,
  );
  for (const { name } of rows) await sql`drop ${sql.raw(type)} ${sql.ref(name)}`.execute(db);
}

async function copyRows(db: Kysely<unknown>, table: string): Promise<void> {
  const { rows } = await sql<{
    name: string;
  }>`select name from pragma_table_info(${`old_${table}`})`.execute(db);
  const columns = sql.join(rows.map((column) => sql.ref(column.name)));
  await sql`insert into ${sql.table(table)} (${columns}) select ${columns} from ${sql.table(`old_${table}`)}`.execute(
    db,
  );
  await db.schema.dropTable(`old_${table}`).execute();
}
