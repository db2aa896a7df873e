/** A case, the statement, and the word by which a guard refuses it. */
export type Attack = readonly [name: string, statement: string, reason: RegExp];

/** What no plain SQL session may do to task rows. */
export const ROW_ATTACKS: readonly Attack[] = [
  [
    'changes the frozen part of a terminal row',
    `update task_row set frozen = '{}' where task_id = 't-1'`,
    /frozen/,
  ],
  [
    'changes the status of a terminal row',
    `update task_row set status = 'completed' where task_id = 't-1'`,
    /frozen/,
  ],
  [
    'gives a terminal row another task',
    `update task_row set task_id = 't-3' where task_id = 't-1'`,
    /frozen/,
  ],
  ['removes a terminal row', `delete from task_row where task_id = 't-1'`, /never deleted/],
  ['removes a row that is not terminal', `delete from task_row where task_id = 't-2'`, /never deleted/],
];
