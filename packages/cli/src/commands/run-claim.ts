import type { Claimed } from '@custody/ledger';
import type { CommandContext } from '../command-context.ts';
import type { ExitCode } from '../exit-code.ts';
import { withManagedLedger } from '../open-managed.ts';
import { printAnswer } from '../output/answer.ts';
import { printable } from '../output/printable.ts';

/** Options of `run claim`. */
export interface RunClaimOptions {
  readonly holder: string;
  /** Whatever is due when absent. */
  readonly task?: string | undefined;
  /** In milliseconds. */
  readonly ttl?: number | undefined;
  /** The process that a reclaim stops. */
  readonly pid?: number | undefined;
}

/** Asks for a task. Exit 1 when there is nothing to claim. */
export async function runClaim(context: CommandContext, options: RunClaimOptions): Promise<ExitCode> {
  const { holder, task, ttl, pid } = options;
  return withManagedLedger(context, { ids: { '--task': task } }, async (ledger) => {
    const answer = await ledger.runs.claim({
      holder,
      ...(task === undefined ? {} : { taskId: task }),
      ...(ttl === undefined ? {} : { ttlMs: ttl }),
      ...(pid === undefined ? {} : { pid }),
    });
    return printAnswer(context, answer, humanClaim);
  });
}

function humanClaim(claim: Claimed): string {
  const { task_id, run_id, fence, expires_at, resume_notice, question } = claim;
  const claimed = `claimed ${printable(task_id)}: run ${run_id}, fence ${fence}, until ${expires_at}`;
  const told = resume_notice?.split('\n').map(printable) ?? [];
  const open = question === null ? [] : [`a question is open: ${printable(String(question['text']))}`];
  return [claimed, ...told, ...open].join('\n');
}
