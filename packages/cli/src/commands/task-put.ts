import type { RowPutResult } from '@custody/ledger';
import type { CommandContext } from '../command-context.ts';
import type { ExitCode } from '../exit-code.ts';
import { EXIT } from '../exit-code.ts';
import { readRows } from '../input/read-rows.ts';
import { withLedger } from '../open-store.ts';
import { printable } from '../output/printable.ts';
import { printRefusal, printReport } from '../output/report.ts';

/** Options of `task put`. */
export interface TaskPutOptions {
  /** Path of rows; stdin when absent or `-`. */
  readonly file?: string | undefined;
}

type Refused = Extract<RowPutResult, { readonly outcome: 'refused' }>;

/**
 * Writes rows as their orchestrator keeps them, under the terminal write guard. Input is checked as a whole before
 * anything is written; a row that the guard refuses does not hinder the others.
 */
export async function taskPut(context: CommandContext, { file }: TaskPutOptions): Promise<ExitCode> {
  const rows = await readRows(context, file);
  return withLedger(context, 'create', async (ledger) => {
    const results = await ledger.rows.put(rows);
    const counts = {
      written: results.filter((result) => result.outcome === 'written').length,
      unchanged: results.filter((result) => result.outcome === 'unchanged').length,
    };
    const refused = results.filter((result): result is Refused => result.outcome === 'refused');
    const [first] = refused;
    if (first === undefined) {
      await printReport(context, counts, () => `${counts.written} written, ${counts.unchanged} unchanged`);
      return EXIT.done;
    }
    const others = refused.map(({ task_id, fields }) => ({ task_id, fields }));
    return printRefusal(context, { ...first, ...counts, refused: others }, humanRefusal(refused, counts));
  });
}

function humanRefusal(
  refused: readonly Refused[],
  { written, unchanged }: { written: number; unchanged: number },
): string {
  const lines = refused.map(
    ({ task_id, fields }) =>
      `task ${printable(task_id)} is frozen: ${printable(fields.join(', '))} can't change any more`,
  );
  const others = written + unchanged > 0 ? `\n(${written} other rows written, ${unchanged} unchanged)` : '';
  return `${lines.join('\n')}${others}\nhint: A terminal row takes only its own status and new fields.`;
}
