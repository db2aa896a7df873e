import type { Insertable } from 'kysely';
import type { ContainmentRecord } from '../../core/containment.ts';
import { isFaultOpen } from '../../core/containment.ts';
import type { InvocationRecord } from '../../core/invocation.ts';
import { isPending } from '../../core/invocation.ts';
import type { JsonObject } from '../../core/json.ts';
import { debtsOfRun, isOwedInvocation } from '../../core/obligations.ts';
import { packRun, unpackRun } from '../../core/packed-run.ts';
import type { RecordedEvent, StoredEvent } from '../../core/recorded-event.ts';
import type { RunRecord } from '../../core/run-record.ts';
import { StoreError } from '../../errors.ts';
import type { Tables } from './tables.ts';

/**
 * A record read back from its JSON column. The ledger wrote it, so its shape is known.
 *
 * @throws StoreError `store_corrupt` if somebody else did.
 */
export function parseRecord<T>(text: string): T {
  try {
    return JSON.parse(text) as T;
  } catch (cause) {
    throw new StoreError(
      'store_corrupt',
      `a record of the ledger is no JSON any more: ${text.slice(0, 80)}`,
      {
        hint: '`custody verify --rebuild` names the place. Restore the store from a backup; keep the damaged one.',
        cause,
      },
    );
  }
}

/** A run read back from its JSON column. */
export function parseRun(text: string): RunRecord {
  return unpackRun(parseRecord<JsonObject>(text));
}

/** An event read back from its row. */
export function toStoredEvent(row: { readonly text: string; readonly hash: string }): StoredEvent {
  return {
    text: row.text,
    event: { ...parseRecord<Omit<RecordedEvent, 'hash'>>(row.text), hash: row.hash } as RecordedEvent,
  };
}

/** An event as its row. */
export function toEventRow(ledger: string, { event, text }: StoredEvent): Insertable<Tables['event']> {
  const taskId = event['task_id'];
  const runId = event['run_id'];
  return {
    ledger,
    seq: event.seq,
    id: event.id,
    type: event.type,
    hash: event.hash,
    text,
    task_id: typeof taskId === 'string' && taskId !== '' ? taskId : null,
    run_id: typeof runId === 'string' && runId !== '' ? runId : null,
  };
}

/** A run as its row: the record, and beside it what queries ask for. */
export function toRunRow(ledger: string, run: RunRecord): Insertable<Tables['run']> {
  const debts = debtsOfRun(run);
  return {
    ledger,
    run_id: run.run_id,
    task_id: run.task_id,
    first_seq: run.first_seq,
    is_open: Number(debts.open),
    owes_run: Number(debts.owes_run),
    owes_patch: Number(debts.owes_patch),
    owed_at: debts.owed_at,
    project_id: run.project_id,
    project_owned: Number(run.project_owned && run.project_id !== ''),
    record: JSON.stringify(packRun(run)),
  };
}

/** An invocation as its row. */
export function toInvocationRow(
  ledger: string,
  invocation: InvocationRecord,
): Insertable<Tables['invocation']> {
  return {
    ledger,
    invocation_id: invocation.invocation_id,
    task_id: invocation.task_id,
    first_seq: invocation.first_seq,
    is_pending: Number(isPending(invocation)),
    is_owed: Number(isOwedInvocation(invocation)),
    requested_at: invocation.requested_at,
    record: JSON.stringify(invocation),
  };
}

/** A containment record as its row. */
export function toContainmentRow(
  ledger: string,
  record: ContainmentRecord,
): Insertable<Tables['containment']> {
  return {
    ledger,
    run_id: record.run_id,
    is_open: Number(isFaultOpen(record)),
    record: JSON.stringify(record),
  };
}
