import type { Ledger, NewEvent } from '@custody/ledger';
import { parseTaskRow } from '@custody/ledger';
import { createReconciler } from '@custody/reconciler';
import { settled, started } from './events.ts';
import { failedRow } from './terminal-rows.ts';

/** Three events that belong together, behind whatever history there is: enough room for every kind of tampering. */
export async function fillLog(ledger: Ledger, history: readonly NewEvent[]): Promise<void> {
  await Promise.allSettled(history.map((event) => ledger.append([event])));
  await ledger.append([started('last-1', 't-1'), started('last-2', 't-1'), settled('last-1')]);
}

/** A healed row, a managed task with all it can have, debts of every kind, and an epoch that was raised. */
export async function fillTables(ledger: Ledger): Promise<void> {
  await fillLog(ledger, [
    { type: 'run.start_requested', task_id: 't-1', invocation_id: 'inv-1', request: {} },
  ]);
  await ledger.append([{ type: 'containment.fault', run_id: 'last-2', reason: 'r' }]);
  await ledger.rows.put([
    parseTaskRow(JSON.stringify(failedRow('t-1', ['gone']))),
    parseTaskRow(JSON.stringify({ task_id: 't-2', status: 'running' })),
  ]);
  await createReconciler(ledger).backfill();
  await ledger.tasks.create({ taskId: 'm-1', title: 'T' });
  await ledger.tasks.create({ taskId: 'm-2', title: 'T', parents: ['m-1'] });
  const run = await ledger.runs.claim({ taskId: 'm-1', holder: 'a' });
  if (run.outcome !== 'claimed') throw new Error('not claimed');
  const held = { taskId: 'm-1', runId: run.run_id, fence: run.fence };
  await ledger.runs.submit({ ...held, idempotencyKey: 'k', value: 'v' });
  await ledger.runs.ask({ ...held, question: 'q?', options: ['a'] });
  await ledger.raiseEpoch('test');
}

/** An edit of one place, and what must be told first. */
export interface Edit {
  readonly what: string;
  readonly statement: (placeOf: (table: string) => string, ledger: string) => string;
  readonly expected: Readonly<Record<string, unknown>>;
}

/** Edits that say what they are about. */
export const EDITS: readonly Edit[] = [
  edit('a record of a run', `update {run} set is_open = 0 where run_id = 'last-2'`, 'table_mismatch'),
  edit('a record that is no JSON any more', `update {run} set record = '{'`, 'table_mismatch'),
  edit('a debt', `delete from {run} where run_id = 'last-2'`, 'table_missing_row'),
  edit('a pending start', 'update {invocation} set is_pending = 0', 'table_mismatch'),
  edit('a fault', 'update {containment} set is_open = 0', 'table_mismatch'),
  edit(
    'evidence',
    `update {run_evidence} set record = replace(record, 'succeeded', 'failed')`,
    'table_mismatch',
  ),
  edit('facts of a task', 'update {task_facts} set last_seq = 1', 'table_mismatch'),
  edit('a fence', 'update {lease} set fence = fence + 1', 'table_mismatch'),
  edit('a holder', `update {lease} set holder = 'b'`, 'table_mismatch'),
  edit('a result that was handed in', `update {submission} set value = '"w"'`, 'table_mismatch'),
  edit('a question', 'update {question} set is_open = 0', 'table_mismatch'),
  edit('a link', 'delete from {task_link}', 'table_missing_row'),
  edit(
    'a managed task',
    `update {managed_task} set status = 'completed' where task_id = 'm-2'`,
    'table_mismatch',
  ),
  edit(
    'the row of a managed task',
    `update {task_row} set frozen = replace(frozen, '"T"', '"U"') where task_id = 'm-2'`,
    'table_mismatch',
    { task_id: 'm-2' },
  ),
  edit(
    'a row that is no JSON any more',
    `update {task_row} set frozen = '{' where task_id = 'm-2'`,
    'table_mismatch',
    { task_id: 'm-2' },
  ),
  edit(
    'the row of a managed task that is gone',
    `delete from {task_row} where task_id = 'm-2'`,
    'table_mismatch',
    {
      task_id: 'm-2',
    },
  ),
  edit(
    'what a heal wrote',
    `update {task_row} set live = replace(live, 'last-2', 'past-2') where task_id = 't-1'`,
    'row_mismatch',
    { task_id: 't-1' },
  ),
  edit(
    'the status column of a row',
    `update {task_row} set status = 'completed' where task_id = 't-1'`,
    'row_mismatch',
    { task_id: 't-1' },
  ),
  edit(
    'the mark of a terminal row',
    `update {task_row} set is_terminal = 0 where task_id = 't-1'`,
    'row_mismatch',
    { task_id: 't-1' },
  ),
  edit('the head', `update {ledger_head} set seq = seq - 1 where ledger = 'LEDGER'`, 'head_mismatch'),
  edit(
    'the hash of the head',
    `update {ledger_head} set hash = '${'f'.repeat(64)}' where ledger = 'LEDGER'`,
    'head_mismatch',
  ),
  edit(
    'the epoch of the head',
    `update {ledger_head} set epoch = 1 where ledger = 'LEDGER'`,
    'head_mismatch',
  ),
  edit(
    'a document of state',
    `update {state_document} set document = '{' where name = 'epoch'`,
    'table_mismatch',
  ),
  edit('a column of an event', `update {event} set task_id = 't-9' where seq = 1`, 'column_mismatch', {
    seq: 1,
  }),
  edit('the id of an event', `update {event} set id = 'other' where seq = 2`, 'column_mismatch', { seq: 2 }),
  edit(
    'the key of the type of an event',
    `update {event} set text = replace(text, '"type":', '"tipe":') where seq = 2`,
    'hash_mismatch',
    { seq: 2 },
  ),
];

function edit(what: string, statement: string, code: string, place: object = {}): Edit {
  return {
    what,
    statement: (placeOf, ledger) =>
      statement.replace(/\{(\w+)\}/, (_all, table: string) => placeOf(table)).replace('LEDGER', ledger),
    expected: { code, ...place },
  };
}
