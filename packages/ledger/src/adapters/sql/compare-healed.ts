import type { JsonValue } from '../../core/json.ts';
import { isSameJson, textsOf } from '../../core/json.ts';
import type { RecordedEvent } from '../../core/recorded-event.ts';
import type { TaskRow } from '../../core/task-row.ts';
import { isTerminalStatus } from '../../core/task-row.ts';
import { StoreError } from '../../errors.ts';
import type { VerifyProblem } from '../../ports/ledger-store.ts';
import { readEvents } from './sql-event-store.ts';
import type { SqlContext } from './tables.ts';

/** What the newest heal of a task's list says that it wrote. */
interface ToldList {
  readonly seq: number;
  /** The list as it stands on the row; null if the newest evidence is none of a heal of ours. */
  readonly list: readonly string[] | null;
}

/** By task: what the log says that its row discloses since its newest heal. */
export type ToldLists = ReadonlyMap<string, ToldList>;

/** Reads from the log what heals wrote. */
export async function readToldLists(context: SqlContext): Promise<ToldLists> {
  const told = new Map<string, ToldList>();
  for (const type of ['custody.unreconciled', 'custody.reconciled']) await readType(context, type, told);
  return told;
}

async function readType(context: SqlContext, type: string, told: Map<string, ToldList>): Promise<void> {
  try {
    for await (const { event } of readEvents(context, { type })) {
      const taskId = String(event['task_id']);
      // A heal of the evidence alone leaves the list as an earlier one wrote it.
      if (Array.isArray(event['changed']) && !event['changed'].includes('delegated_runs_unreconciled'))
        continue;
      if ((told.get(taskId)?.seq ?? 0) < event.seq) told.set(taskId, { seq: event.seq, list: listOf(event) });
    }
  } catch (error) {
    // An event that is no JSON any more is a finding of its own; what a log without it says of rows is nothing.
    if (!(error instanceof StoreError)) throw error;
    told.clear();
  }
}

/** Evidence of another program, or of an audit at the end of a task, does not say what was changed on a row. */
function listOf(event: RecordedEvent): readonly string[] | null {
  if (!Array.isArray(event['changed'])) return null;
  return event.type === 'custody.reconciled' ? [] : textsOf(event['run_ids']);
}

/**
 * Why a terminal row does not stand as its newest heal left it; null if it does, or if the log does not say.
 * Only the reconciler changes these fields once a task has ended, and says so.
 */
export function healedFault(row: TaskRow, told: ToldLists): VerifyProblem | null {
  const { list = null, seq = 0 } = told.get(row.task_id) ?? {};
  if (list === null || !isTerminalStatus(row.status)) return null;
  const stored = row.value['delegated_runs_unreconciled'] ?? null;
  if (isSameJson(stored, list as JsonValue)) return null;
  return {
    code: 'row_mismatch',
    message: `the row's delegated_runs_unreconciled is not what its heal wrote (event ${seq})`,
    task_id: row.task_id,
  };
}
