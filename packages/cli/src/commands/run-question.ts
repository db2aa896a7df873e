import type { QuestionToAsk, QuestionToParkOn } from '@custody/ledger';
import type { CommandContext } from '../command-context.ts';
import { usageError } from '../errors.ts';
import type { ExitCode } from '../exit-code.ts';
import { withManagedLedger } from '../open-managed.ts';
import { printAnswer } from '../output/answer.ts';
import { printable } from '../output/printable.ts';

/** The run that writes, and the fence that its claim gave. */
interface OfRun {
  readonly run: string;
  readonly fence: number;
}

/** A new question, as options give it. */
interface QuestionOptions {
  readonly question: string;
  /** What may be picked. */
  readonly option?: readonly string[] | undefined;
  readonly allowText?: boolean | undefined;
}

/** Options of `run ask`. */
export type RunAskOptions = OfRun & QuestionOptions;

/** Options of `run park`. */
export interface RunParkOptions extends OfRun, Partial<QuestionOptions> {
  /** A question that the task has already. */
  readonly questionId?: string | undefined;
}

/** Raises a question; the run goes on. */
export async function runAsk(context: CommandContext, options: RunAskOptions): Promise<ExitCode> {
  const { run: runId, fence } = options;
  const question = toQuestion(options);
  return withManagedLedger(context, { ids: { '--run': runId } }, async (ledger) =>
    printAnswer(
      context,
      await ledger.runs.ask({ runId, fence, ...question }),
      ({ question_id }) => `asked ${printable(question_id)}`,
    ),
  );
}

/** Ends the run until a person has answered. */
export async function runPark(context: CommandContext, options: RunParkOptions): Promise<ExitCode> {
  const { run: runId, fence, questionId } = options;
  const on = toParkOn(options);
  const ids = { '--run': runId, '--question-id': questionId };
  return withManagedLedger(context, { ids }, async (ledger) =>
    printAnswer(
      context,
      await ledger.runs.park({ runId, fence, ...on }),
      ({ task_id, question_id, status }) =>
        `parked ${printable(task_id)} on ${printable(question_id)}; the task is ${status}`,
    ),
  );
}

function toQuestion({ question, option = [], allowText }: QuestionOptions): QuestionToAsk {
  if (option.some((text) => text.trim() === '') || new Set(option).size < option.length)
    throw usageError(
      'each --option takes a text of its own',
      'For example --option Port --option Starboard.',
      {
        option: '--option',
      },
    );
  return { question, options: option, ...(allowText === true ? { allowText } : {}) };
}

function toParkOn(options: RunParkOptions): QuestionToParkOn {
  const { question, questionId, option, allowText } = options;
  if (questionId === undefined && question !== undefined) return toQuestion({ ...options, question });
  if (questionId !== undefined && question === undefined && option === undefined && allowText === undefined)
    return { questionId };
  throw usageError(
    questionId === undefined
      ? '--question or --question-id is missing'
      : '--question-id stands alone: its question has its options already',
    'A new question is given with --question and --option, one that was asked with --question-id.',
    { option: questionId === undefined ? '--question' : '--question-id' },
  );
}

/** Options of `question deliveries`. */
export type QuestionDeliveriesOptions = OfRun;

/** Prints what is offered to a run. */
export async function questionDeliveries(
  context: CommandContext,
  { run: runId, fence }: QuestionDeliveriesOptions,
): Promise<ExitCode> {
  return withManagedLedger(context, { use: 'look', ids: { '--run': runId } }, async (ledger) =>
    printAnswer(context, await ledger.questions.deliveries({ runId, fence }), ({ deliveries }) =>
      deliveries.length === 0
        ? 'nothing is offered'
        : deliveries
            .map(({ question_id, text }) => `${printable(question_id)}  ${printable(text)}`)
            .join('\n'),
    ),
  );
}

/** Options of `question ack`. */
export interface QuestionAckOptions extends OfRun {
  readonly questionId: string;
}

/** Says that the run has taken a verdict. */
export async function questionAck(
  context: CommandContext,
  { run: runId, fence, questionId }: QuestionAckOptions,
): Promise<ExitCode> {
  return withManagedLedger(context, { ids: { id: questionId, '--run': runId } }, async (ledger) =>
    printAnswer(
      context,
      await ledger.questions.ack({ runId, fence, questionId }),
      ({ question_id, replayed }) =>
        `delivered ${printable(question_id)}${replayed ? ', as it was already' : ''}`,
    ),
  );
}
