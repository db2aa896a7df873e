import type { Insertable, Selectable } from 'kysely';
import type { ContainmentRecord } from '../../core/containment.ts';
import { isFaultOpen } from '../../core/containment.ts';
import type { InvocationRecord } from '../../core/invocation.ts';
import { isPending } from '../../core/invocation.ts';
import type { JsonObject, JsonValue } from '../../core/json.ts';
import { isJsonObject } from '../../core/json.ts';
import { debtsOfRun, isOwedInvocation } from '../../core/obligations.ts';
import { packEvidence, packFacts, unpackEvidence, unpackFacts } from '../../core/packed-evidence.ts';
import { packRun, unpackRun } from '../../core/packed-run.ts';
import type { RecordedEvent, StoredEvent } from '../../core/recorded-event.ts';
import type { RunEvidence, TaskFacts } from '../../core/run-evidence.ts';
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

/** Evidence read back from its row. */
export function parseEvidence(row: EvidenceRow): RunEvidence {
  return unpackEvidence(parseRecord<JsonObject>(row.record), row);
}

type EvidenceRow = Pick<Selectable<Tables['run_evidence']>, 'task_id' | 'run_id' | 'record'>;

/** Facts of a task read back from their row. */
export function parseFacts(row: FactsRow): TaskFacts {
  return unpackFacts(parseRecord<JsonObject>(row.record), row);
}

type FactsRow = Pick<Selectable<Tables['task_facts']>, 'task_id' | 'last_seq' | 'record'>;

/**
 * What the record of a row says, whole: rows of earlier versions give every field, rows of this one leave out what
 * is as in an empty record.
 */
export function meaningOf(table: string, row: object): JsonValue {
  const { record: text, task_id, run_id, last_seq } = row as Readonly<Record<string, unknown>>;
  const record = JSON.parse(String(text)) as JsonValue;
  if (!isJsonObject(record)) return record;
  if (table === 'run_evidence')
    return { ...unpackEvidence(record, { task_id: String(task_id), run_id: String(run_id) }) };
  if (table === 'task_facts')
    return { ...unpackFacts(record, { task_id: String(task_id), last_seq: Number(last_seq) }) };
  return record;
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

/** What the rows of a task say of a run, as its row. */
export function toEvidenceRow(ledger: string, evidence: RunEvidence): Insertable<Tables['run_evidence']> {
  return {
    ledger,
    task_id: evidence.task_id,
    run_id: evidence.run_id,
    record: JSON.stringify(packEvidence(evidence)),
  };
}

/** Facts of a task as their row. */
export function toFactsRow(ledger: string, facts: TaskFacts): Insertable<Tables['task_facts']> {
  return {
    ledger,
    task_id: facts.task_id,
    last_seq: facts.last_seq,
    record: JSON.stringify(packFacts(facts)),
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
