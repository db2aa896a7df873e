import type { Question } from '@custody/ledger';
import type { CommandContext } from '../command-context.ts';
import { usageError } from '../errors.ts';
import type { ExitCode } from '../exit-code.ts';
import { EXIT } from '../exit-code.ts';
import { withManagedLedger } from '../open-managed.ts';
import { printAnswer } from '../output/answer.ts';
import { printable } from '../output/printable.ts';

/** Options of `question list`. */
export interface QuestionListOptions {
  readonly task?: string | undefined;
  /** Only those that wait for an answer. */
  readonly open?: boolean | undefined;
}

/** Prints questions in the order in which they were raised. */
export async function questionList(
  context: CommandContext,
  { task: taskId, open }: QuestionListOptions,
): Promise<ExitCode> {
  return withManagedLedger(context, { use: 'look', ids: { '--task': taskId } }, async (ledger) => {
    const questions = await ledger.questions.list({
      ...(taskId === undefined ? {} : { taskId }),
      open: open === true,
    });
    for (const question of questions)
      await context.out.write(
        context.json ? `${JSON.stringify(question)}\n` : `${humanQuestion(question, context)}\n`,
      );
    if (!context.json && questions.length === 0) await context.out.write('no question\n');
    return EXIT.done;
  });
}

function humanQuestion(question: Question, { paint }: CommandContext): string {
  const { question_id, task_id, text, options, answer, delivered } = question;
  const asked = `${printable(question_id)}  ${printable(task_id)}  ${printable(text)}`;
  if (answer === null) {
    const offered = options.length === 0 ? 'an answer is to be written' : options.map(printable).join(' | ');
    return `${asked}\n  ${paint.yellow('open')}: ${offered}`;
  }
  const heard =
    delivered === null ? 'no run has heard it' : `${delivered.mode} to ${printable(delivered.run_id)}`;
  return `${asked}\n  ${printable(answer)} (${heard})`;
}

/** Options of `question answer`. */
export interface QuestionAnswerOptions {
  readonly questionId: string;
  readonly option?: string | undefined;
  /** In place of an option, where the question allows it. */
  readonly text?: string | undefined;
  readonly author?: string | undefined;
}

/** Gives the verdict, once. */
export async function questionAnswer(
  context: CommandContext,
  { questionId, option, text, author }: QuestionAnswerOptions,
): Promise<ExitCode> {
  const answer = toAnswer(option, text);
  return withManagedLedger(context, { ids: { id: questionId } }, async (ledger) =>
    printAnswer(
      context,
      await ledger.questions.answer({ questionId, author: author ?? null, ...answer }),
      ({ question_id, delivery }) =>
        `answered ${printable(question_id)}: ${
          delivery === 'offered' ? 'offered to the run that is open' : 'the next claim brings it'
        }`,
    ),
  );
}

function toAnswer(
  option: string | undefined,
  text: string | undefined,
): { readonly option: string } | { readonly text: string } {
  if (text === undefined && option !== undefined && option.trim() !== '') return { option };
  if (text !== undefined && option === undefined) return { text };
  throw usageError(
    text === undefined ? '--option or --text is missing' : '--option and --text exclude each other',
    'Pick one of the options that `custody question list` shows.',
    { option: '--option' },
  );
}
