import type { Kysely } from 'kysely';
import { sql } from 'kysely';

/**
 * Rules that the database itself enforces, also against a plain SQL session: events are append-only, a
 * terminal row's frozen part and status never change, and no row of either kind is ever deleted;
 * nor is a lease, whose fence only grows.
 */
export async function createSqliteGuards(db: Kysely<unknown>): Promise<void> {
  await sql`create trigger event_is_never_updated before update on event
    begin select raise(abort, 'events are append-only'); end`.execute(db);
  await sql`create trigger event_is_never_deleted before delete on event
    begin select raise(abort, 'events are append-only'); end`.execute(db);
  // One trigger for both, since each costs as much as an index. "insert or replace" removes the old row without
  // asking the triggers above.
  await sql`create trigger event_continues_the_log before insert on event
    begin select case
      when new.seq <> coalesce((select max(seq) from event), 0) + 1 then raise(abort, 'seq must follow the newest event')
      when exists (select 1 from event where id = new.id) then raise(abort, 'the id of an event is taken for ever')
    end; end`.execute(db);
  await sql`create trigger frozen_part_is_immutable before update on task_row
    when old.is_terminal = 1
      and (new.frozen is not old.frozen or new.status is not old.status
        or new.is_terminal is not old.is_terminal or new.task_id is not old.task_id or new.ledger is not old.ledger)
    begin select raise(abort, 'the frozen part of a terminal row can not change'); end`.execute(db);
  await sql`create trigger task_row_is_never_replaced before insert on task_row
    when exists (select 1 from task_row where ledger = new.ledger and task_id = new.task_id)
    begin select raise(abort, 'a task row is updated, never replaced'); end`.execute(db);
  await sql`create trigger lease_is_never_replaced before insert on lease
    when exists (select 1 from lease where ledger = new.ledger and task_id = new.task_id)
    begin select raise(abort, 'a lease is updated, never replaced'); end`.execute(db);
  await sql`create trigger lease_fence_only_grows before update on lease
    when new.fence < old.fence or new.task_id is not old.task_id or new.ledger is not old.ledger
    begin select raise(abort, 'the fence of a lease only grows'); end`.execute(db);
  await sql`create trigger lease_is_never_deleted before delete on lease
    begin select raise(abort, 'a lease keeps the fence and is never deleted'); end`.execute(db);
  await sql`create trigger task_row_is_never_deleted before delete on task_row
    begin select raise(abort, 'task rows are never deleted'); end`.execute(db);
}

/** Served records are put anew, never deleted: a failover that lost one would be told by the database. */
export async function createRecordGuards(db: Kysely<unknown>): Promise<void> {
  await sql`create trigger served_record_is_never_deleted before delete on served_record
    begin select raise(abort, 'records are never deleted'); end`.execute(db);
  await sql`create trigger served_record_is_never_replaced before insert on served_record
    when exists (select 1 from served_record where ledger = new.ledger and record_id = new.record_id)
    begin select raise(abort, 'a record is updated, never replaced'); end`.execute(db);
}
