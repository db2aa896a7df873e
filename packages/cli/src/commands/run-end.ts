import type { BlockKind } from '@custody/ledger';
import type { CommandContext } from '../command-context.ts';
import { usageError } from '../errors.ts';
import type { ExitCode } from '../exit-code.ts';
import { withManagedLedger } from '../open-managed.ts';
import { printAnswer } from '../output/answer.ts';
import { printable } from '../output/printable.ts';
import { taskText } from '../output/task-text.ts';

/** The task that ends, the run that ends it, and the fence that its claim gave. */
interface OfHeldTask {
  readonly task: string;
  readonly run: string;
  readonly fence: number;
}

/** Options of `run complete`. */
export interface RunCompleteOptions extends Omit<OfHeldTask, 'fence'> {
  readonly fence?: number | undefined;
  /** In place of the fence: the run has ended, and its result is to become the completion. */
  readonly replay?: boolean | undefined;
  readonly result: string;
  readonly summary?: string | undefined;
}

/** Completes a task by the run that holds it, or by the exact run that held it last. */
export async function runComplete(context: CommandContext, options: RunCompleteOptions): Promise<ExitCode> {
  const { task: taskId, run: runId, fence, replay, result, summary } = options;
  if ((fence === undefined) === (replay !== true)) {
    throw usageError(
      fence === undefined ? '--fence or --replay is missing' : '--fence and --replay exclude each other',
      'The run that holds the task gives --fence; --replay is for the result of a run that has ended.',
      { option: '--fence' },
    );
  }
  return withManagedLedger(context, { ids: { '--task': taskId, '--run': runId } }, async (ledger) => {
    const answer = await ledger.runs.complete({
      taskId,
      runId,
      ...(fence === undefined ? { replay: true } : { fence }),
      result,
      summary: summary ?? null,
    });
    return printAnswer(
      context,
      answer,
      ({ task_id, run_id, replayed, seq }) =>
        `completed ${printable(task_id)} by run ${run_id} (seq ${seq})${replayed ? ', replayed' : ''}`,
    );
  });
}

/** Options of `run fail`. */
export interface RunFailOptions extends OfHeldTask {
  readonly reason: string;
}

/** Ends a task as failed by the run that holds it. */
export async function runFail(context: CommandContext, options: RunFailOptions): Promise<ExitCode> {
  const { task: taskId, run: runId, fence, reason } = options;
  return withManagedLedger(context, { ids: { '--task': taskId, '--run': runId } }, async (ledger) =>
    printAnswer(context, await ledger.runs.fail({ taskId, runId, fence, reason }), taskText),
  );
}

/** Options of `run block`. */
export interface RunBlockOptions extends OfHeldTask {
  readonly reason: string;
  readonly kind?: BlockKind | undefined;
}

/** Holds a task up by the run that holds it; the run ends. */
export async function runBlock(context: CommandContext, options: RunBlockOptions): Promise<ExitCode> {
  const { task: taskId, run: runId, fence, reason, kind } = options;
  return withManagedLedger(context, { ids: { '--task': taskId, '--run': runId } }, async (ledger) => {
    const answer = await ledger.runs.block({ taskId, runId, fence, reason, kind: kind ?? null });
    return printAnswer(context, answer, taskText);
  });
}

/** Options of `run reclaim`. */
export interface RunReclaimOptions {
  readonly task: string;
  readonly run: string;
  readonly reason: string;
}

/** Takes a task away from exactly one run; stops its process first. */
export async function runReclaim(context: CommandContext, options: RunReclaimOptions): Promise<ExitCode> {
  const { task: taskId, run: runId, reason } = options;
  return withManagedLedger(context, { ids: { '--task': taskId, '--run': runId } }, async (ledger) =>
    printAnswer(context, await ledger.runs.reclaim({ taskId, runId, reason }), taskText),
  );
}
