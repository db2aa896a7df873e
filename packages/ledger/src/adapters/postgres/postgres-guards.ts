import type { Kysely } from 'kysely';
import { sql } from 'kysely';

/** A trigger that the ledger gives a table, in the order of words in which PostgreSQL tells it. */
export interface Guard {
  readonly name: string;
  readonly table: string;
  /** What it is asked before or after. */
  readonly when: string;
  /** What stands behind the table: for what, under which condition, and what is run. */
  readonly rule: string;
  /** Whether partitions get it by themselves, as they do with triggers of rows. */
  readonly isInherited: boolean;
}

/** The tables that nobody may empty. */
const NEVER_EMPTIED = ['event', 'task_row', 'lease', 'served_record'];

/**
 * Rules that the database itself enforces, also against a plain SQL session: events are append-only, a terminal row's
 * frozen part and status never change, and no row of either kind is ever deleted; nor is a lease, whose fence only
 * grows.
 */
export const GUARDS: readonly Guard[] = [
  ofRows('event', 'event_is_append_only', {
    when: 'before delete or update',
    refusal: 'events are append-only',
  }),
  ofRows('task_row', 'frozen_part_is_immutable', {
    when: 'before update',
    condition: `(old.is_terminal = 1 and (${changesOf('frozen', 'status', 'is_terminal', 'task_id', 'ledger')}))`,
    refusal: 'the frozen part of a terminal row can not change',
  }),
  ofRows('task_row', 'task_row_is_never_deleted', {
    when: 'before delete',
    refusal: 'task rows are never deleted',
  }),
  ofRows('lease', 'lease_fence_only_grows', {
    when: 'before update',
    condition: `(new.fence < old.fence or ${changesOf('task_id', 'ledger')})`,
    refusal: 'the fence of a lease only grows',
  }),
  ofRows('lease', 'lease_is_never_deleted', {
    when: 'before delete',
    refusal: 'a lease keeps the fence and is never deleted',
  }),
  ofRows('served_record', 'served_record_is_never_deleted', {
    when: 'before delete',
    refusal: 'records are never deleted',
  }),
  ...NEVER_EMPTIED.map((table) => ({
    name: 'is_never_emptied',
    table,
    when: 'before truncate',
    rule: `for each statement execute function custody_refuse('what the ledger keeps is never removed')`,
    isInherited: false,
  })),
  {
    name: 'event_continues_the_log',
    table: 'event',
    when: 'after insert',
    rule: 'referencing new table as added for each statement execute function custody_check_order()',
    isInherited: false,
  },
];

/** One by one, as PostgreSQL itself takes a comparison of rows apart. */
function changesOf(...columns: readonly string[]): string {
  return columns.map((column) => `new.${column} is distinct from old.${column}`).join(' or ');
}

function ofRows(
  table: string,
  name: string,
  {
    when,
    condition,
    refusal,
  }: { readonly when: string; readonly condition?: string; readonly refusal: string },
): Guard {
  const only = condition === undefined ? '' : `when ${condition} `;
  return {
    name,
    table,
    when,
    rule: `for each row ${only}execute function custody_refuse('${refusal}')`,
    isInherited: true,
  };
}

/** What the triggers run. Functions name their tables in full where they read one: whoever runs them has a search path of his own. */
export const GUARD_FUNCTIONS: Readonly<Record<string, string>> = {
  custody_refuse: `
    begin
      raise exception '%', tg_argv[0] using errcode = 'restrict_violation';
    end `,
  // Once for all rows of a statement: what was added has no gap inside, and none before it.
  custody_check_order: `
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
    end `,
};

/** Makes functions and triggers. Triggers of rows come to each partition by themselves, see {@link guardPartitions}. */
export async function createPostgresGuards(db: Kysely<unknown>): Promise<void> {
  for (const [name, body] of Object.entries(GUARD_FUNCTIONS))
    await sql`create function ${sql.id(name)}() returns trigger language plpgsql as $$${sql.raw(body)}$$`.execute(
      db,
    );
  for (const guard of GUARDS) await createGuard(db, guard, guard.table);
}

/** Gives the partitions of a ledger the triggers that don't come to them by themselves. */
export async function guardPartitions(
  db: Kysely<unknown>,
  partitionOf: (table: string) => string,
): Promise<void> {
  for (const guard of GUARDS) if (!guard.isInherited) await createGuard(db, guard, partitionOf(guard.table));
}

async function createGuard(db: Kysely<unknown>, { name, when, rule }: Guard, place: string): Promise<void> {
  await sql`create trigger ${sql.id(name)} ${sql.raw(when)} on ${sql.table(place)} ${sql.raw(rule)}`.execute(
    db,
  );
}
