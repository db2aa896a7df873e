import type { Ledger, RecordedEvent, TaskRow } from '@custody/ledger';
import type { PlanEntry } from '@custody/reconciler';
import { loadRow } from '../load-row.ts';
import { rawObjectLine } from '../output/raw-report.ts';
import { eventsOfTask } from '../task-events.ts';
import { decidingEvents } from './deciding-events.ts';
import type { ExplainedField } from './explained-fields.ts';
import { explainedFields } from './explained-fields.ts';
import type { HealRecord } from './heal-history.ts';
import { healHistory } from './heal-history.ts';
import { healOf, untrueFields } from './untrue-fields.ts';

/** Why a row says what it says. */
export interface Explanation {
  readonly row: TaskRow;
  readonly fields: readonly ExplainedField[];
  readonly healed: readonly HealRecord[];
  /** What a heal would change now; null if nothing. */
  readonly heal: PlanEntry | null;
  /** Everything recorded of the task. */
  readonly events: readonly RecordedEvent[];
  /** The report by field, each as JSON text: values of a row keep their own spelling. */
  readonly report: Readonly<Record<string, string>>;
}

/** Explains the row of a task; null if there is none. */
export async function explainTask(ledger: Ledger, taskId: string): Promise<Explanation | null> {
  const row = await loadRow(ledger, taskId);
  const custody = (await ledger.custody.tasks([taskId])).get(taskId);
  if (row === null || custody === undefined) return null;
  const events = await eventsOfTask(ledger, custody);
  const heal = await healOf(ledger, taskId);
  const deciding = decidingEvents(custody, events);
  const fields = explainedFields(row, { deciding, events, untrue: untrueFields(heal) });
  const healed = healHistory(row.value, events);
  const report = {
    task_id: JSON.stringify(taskId),
    fields: `[${fields.map(fieldJson).join(',')}]`,
    healed: JSON.stringify(healed),
    would_change: JSON.stringify(toChange(heal)),
  };
  return { row, fields, healed, heal, events, report };
}

function toChange(heal: PlanEntry | null): Omit<PlanEntry, 'task_id'> | null {
  if (heal === null) return null;
  const { task_id: _, ...change } = heal;
  return change;
}

function fieldJson({ field, raw, frozen, current, because }: ExplainedField): string {
  return rawObjectLine({
    field: JSON.stringify(field),
    value: raw,
    frozen: String(frozen),
    current: String(current),
    because: JSON.stringify(because),
  });
}
