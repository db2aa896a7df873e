import type { Kysely } from 'kysely';
import { sql } from 'kysely';

/**
 * Rules that the database itself enforces, also against a plain SQL session: events are append-only, a terminal row's
 * frozen part and status never change, and no row of either kind is ever deleted; nor is a lease, whose fence only
 * grows. Triggers of rows come to each partition by themselves; those of statements do not, see
 * {@link guardPartitions}.
 */
export async function createPostgresGuards(db: Kysely<unknown>): Promise<void> {
  await createFunctions(db);
  await sql`create trigger event_is_append_only before update or delete on event
    for each row execute function custody_refuse('events are append-only')`.execute(db);
  await sql`create trigger frozen_part_is_immutable before update on task_row for each row
    when (old.is_terminal = 1
      and (new.frozen, new.status, new.is_terminal, new.task_id, new.ledger)
        is distinct from (old.frozen, old.status, old.is_terminal, old.task_id, old.ledger))
    execute function custody_refuse('the frozen part of a terminal row can not change')`.execute(db);
  await sql`create trigger task_row_is_never_deleted before delete on task_row
    for each row execute function custody_refuse('task rows are never deleted')`.execute(db);
  await sql`create trigger lease_fence_only_grows before update on lease for each row
    when (new.fence < old.fence or (new.task_id, new.ledger) is distinct from (old.task_id, old.ledger))
    execute function custody_refuse('the fence of a lease only grows')`.execute(db);
  await sql`create trigger lease_is_never_deleted before delete on lease
    for each row execute function custody_refuse('a lease keeps the fence and is never deleted')`.execute(db);
  await sql`create trigger served_record_is_never_deleted before delete on served_record
    for each row execute function custody_refuse('records are never deleted')`.execute(db);
  for (const table of NEVER_EMPTIED) await guardStatements(db, table, table);
}

/** The tables that nobody may empty. */
const NEVER_EMPTIED = ['event', 'task_row', 'lease', 'served_record'];

/** Gives the partitions of a ledger the triggers that don't come to them by themselves. */
export async function guardPartitions(
  db: Kysely<unknown>,
  partitionOf: (table: string) => string,
): Promise<void> {
  for (const table of NEVER_EMPTIED) await guardStatements(db, table, partitionOf(table));
}

async function guardStatements(db: Kysely<unknown>, table: string, place: string): Promise<void> {
  await sql`create trigger is_never_emptied before truncate on ${sql.table(place)}
    for each statement execute function custody_refuse('what the ledger keeps is never removed')`.execute(db);
  if (table !== 'event') return;
  await sql`create trigger event_continues_the_log after insert on ${sql.table(place)}
    referencing new table as added for each statement execute function custody_check_order()`.execute(db);
}

/** Functions name their tables in full where they read one: whoever runs them has a search path of his own. */
async function createFunctions(db: Kysely<unknown>): Promise<void> {
  await sql`create function custody_refuse() returns trigger language plpgsql as $$
    begin
      raise exception '%', tg_argv[0] using errcode = 'restrict_violation';
    end $$`.execute(db);
  // Once for all rows of a statement: what was added has no gap inside, and none before it.
  await sql`create function custody_check_order() returns trigger language plpgsql as $$
    declare
      part record;
      is_connected boolean;
    begin
      for part in select ledger, min(seq) as first, max(seq) as last, count(*) as many from added group by ledger
      loop
        if part.first = 1 then
          is_connected := true;
        else
          execute format('select exists (select from %I.%I where ledger = $1 and seq = $2)',
            tg_table_schema, tg_table_name) into is_connected using part.ledger, part.first - 1;
        end if;
        if not is_connected or part.last - part.first + 1 <> part.many then
          raise exception 'seq must follow the newest event' using errcode = 'restrict_violation';
        end if;
      end loop;
      return null;
    end $$`.execute(db);
}
