import type { JsonObject } from '@custody/ledger';
import { textsOf } from '@custody/ledger';
import type { PlanEntry } from '@custody/reconciler';

/** One field of one row, as it stood and as the log has it. */
export interface Example {
  readonly task_id: string;
  readonly field: string;
  readonly before: JsonObject[string];
  readonly after: JsonObject[string];
}

const LIST = 'delegated_runs_unreconciled';
const SUBSTRATE = 'actual_substrate';

/** What a kind of lie looks like in a plan. */
type Kind = (before: readonly string[], after: readonly string[]) => boolean;

const isRun = (item: string): boolean => !item.includes(':');

const KINDS: readonly Kind[] = [
  // Still accused, though everything ended.
  (before, after) => before.length > 0 && before.every(isRun) && after.length === 0,
  // Discloses nothing, though something is owed.
  (before, after) => before.length === 0 && after.length > 0,
  // The run ended, and left a patch that nobody has decided on.
  (before, after) =>
    before.length > 0 && before.every(isRun) && after.some((item) => item.startsWith('patch:')),
];

/** A few changes of a plan, each of another kind, each of another task; the shortest of each kind. */
export function pickExamples(plan: readonly PlanEntry[]): readonly Example[] {
  const examples: Example[] = [];
  const add = (field: string, isWanted: (entry: PlanEntry) => boolean) => {
    const isFresh = ({ task_id }: PlanEntry) => !examples.some((example) => example.task_id === task_id);
    const fitting = plan.filter(
      (entry) => Object.hasOwn(entry.after, field) && isFresh(entry) && isWanted(entry),
    );
    const [shortest] = fitting
      .map((entry) => exampleOf(entry, field))
      .sort((a, b) => lengthOf(a) - lengthOf(b));
    if (shortest !== undefined) examples.push(shortest);
  };
  for (const isKind of KINDS)
    add(LIST, ({ before, after }) => isKind(textsOf(before[LIST]), textsOf(after[LIST])));
  add(
    SUBSTRATE,
    ({ before, after }) => before[SUBSTRATE] === 'harness_attempted' && after[SUBSTRATE] === 'harness_used',
  );
  return examples;
}

function exampleOf({ task_id, before, after }: PlanEntry, field: string): Example {
  return { task_id, field, before: before[field] ?? null, after: after[field] ?? null };
}

/** Short examples read best. */
function lengthOf({ before, after }: Example): number {
  return JSON.stringify([before, after]).length;
}
