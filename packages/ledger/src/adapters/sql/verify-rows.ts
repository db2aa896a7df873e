import type { RowParts, TaskRow } from '../../core/task-row.ts';
import { isTerminalStatus, joinRow } from '../../core/task-row.ts';
import { InvalidRowError } from '../../errors.ts';
import type { VerifyProblem } from '../../ports/ledger-store.ts';
import type { ToldLists } from './compare-healed.ts';
import { healedFault, readToldLists } from './compare-healed.ts';
import type { Db, SqlContext } from './tables.ts';

const PAGE = 500;

/** More say nothing new. */
const MAX_PROBLEMS = 50;

/**
 * Checks every row for itself, and what it discloses against what its newest heal says in the log. What an
 * orchestrator wrote is not in the log; a signed list of it is compared elsewhere.
 */
export async function verifyTaskRows(db: Db, context: SqlContext): Promise<readonly VerifyProblem[]> {
  const told = await readToldLists({ ...context, reader: db as SqlContext['reader'] });
  const problems: VerifyProblem[] = [];
  let after = '';
  for (;;) {
    const rows = await db
      .selectFrom('task_row')
      .selectAll()
      .where('ledger', '=', context.ledger)
      .where('task_id', '>', after)
      .orderBy('task_id')
      .limit(PAGE)
      .execute();
    for (const row of rows) problems.push(...rowFaults(row, told));
    const last = rows.at(-1);
    if (last === undefined || rows.length < PAGE || problems.length >= MAX_PROBLEMS) return problems;
    after = last.task_id;
  }
}

interface StoredRow extends RowParts {
  readonly task_id: string;
  readonly status: string;
  readonly is_terminal: number;
}

function rowFaults(stored: StoredRow, told: ToldLists): readonly VerifyProblem[] {
  const { task_id } = stored;
  const row = joined(stored);
  if (row === null)
    return [{ code: 'row_mismatch', message: 'the row is not what a writer of rows leaves', task_id }];
  if (row.status !== stored.status || isTerminalStatus(row.status) !== (stored.is_terminal === 1))
    return [
      {
        code: 'row_mismatch',
        message: `the row says ${JSON.stringify(row.status)}, its columns say ${JSON.stringify(stored.status)}, terminal ${stored.is_terminal}`,
        task_id,
      },
    ];
  const fault = healedFault(row, told);
  return fault === null ? [] : [fault];
}

function joined(stored: StoredRow): TaskRow | null {
  const parts: readonly unknown[] = [stored.frozen, stored.added, stored.live];
  if (parts.some((part) => typeof part !== 'string')) return null;
  try {
    return joinRow(stored, stored.task_id);
  } catch (error) {
    if (error instanceof InvalidRowError) return null;
    throw error;
  }
}
