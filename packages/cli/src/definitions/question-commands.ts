import type { Command } from 'commander';
import type { CommandRunner } from '../command-context.ts';
import type { QuestionAnswerOptions, QuestionListOptions } from '../commands/question-verdict.ts';
import type {
  QuestionAckOptions,
  QuestionDeliveriesOptions,
  RunAskOptions,
  RunParkOptions,
} from '../commands/run-question.ts';
import { fence, repeated, text } from '../input/managed-options.ts';
import { withExample } from './with-example.ts';

function ofRun(command: Command): Command {
  return command
    .requiredOption('--run <id>', 'the run, as its claim named it')
    .requiredOption('--fence <number>', 'the fence that the claim gave', fence);
}

/** What runs do with questions, among the commands of `run`. */
export function defineAskingCommands(runs: Command, run: CommandRunner): void {
  withExample(
    ofRun(runs.command('ask').description('raise a question and go on'))
      .requiredOption('--question <text>', 'what is asked', text('--question'))
      .option('--option <text>', 'what may be picked; repeat it for each', repeated)
      .option('--allow-text', 'an answer may be written too; so it is without any --option')
      .action((options: RunAskOptions) =>
        run(async () => (await import('../commands/run-question.ts')).runAsk, options),
      ),
    'custody run ask --run run-9 --fence 12 --question Which? --option A --option B',
  );
  withExample(
    ofRun(runs.command('park').description('end the run until a person has answered'))
      .option('--question <text>', 'what is asked', text('--question'))
      .option('--option <text>', 'what may be picked; repeat it for each', repeated)
      .option('--allow-text', 'an answer may be written too; so it is without any --option')
      .option('--question-id <id>', 'in place of a new question: one that was asked already')
      .action((options: RunParkOptions) =>
        run(async () => (await import('../commands/run-question.ts')).runPark, options),
      ),
    'custody run park --run run-9 --fence 12 --question Which? --option A --option B',
    'custody run park --run run-9 --fence 12 --question-id question-7',
  );
}

/** Commands on questions: of people who answer, and of runs that take the verdicts. */
export function defineQuestionCommands(program: Command, run: CommandRunner): void {
  program.commandsGroup('Questions:');
  const questions = program.command('question').description('answer what runs ask, and take the verdicts');
  withExample(
    questions
      .command('list')
      .description('print questions in the order in which they were raised')
      .option('--task <id>', 'only those of one task')
      .option('--open', 'only those that wait for an answer')
      .action((options: QuestionListOptions) =>
        run(async () => (await import('../commands/question-verdict.ts')).questionList, options),
      ),
    'custody question list --open',
  );
  withExample(
    questions
      .command('answer')
      .description('give the verdict, once; a parked task can be claimed then')
      .argument('<id>', 'id of the question')
      .option('--option <option>', 'the one that is picked')
      .option('--text <text>', 'in place of a pick, where the question allows it', text('--text'))
      .option('--author <name>', 'who answers, for people to read', text('--author'))
      .action((questionId: string, options: Omit<QuestionAnswerOptions, 'questionId'>) =>
        run(async () => (await import('../commands/question-verdict.ts')).questionAnswer, {
          ...options,
          questionId,
        }),
      ),
    'custody question answer question-7 --option A',
  );
  withExample(
    ofRun(questions.command('deliveries').description('print the verdicts that are offered to a run')).action(
      (options: QuestionDeliveriesOptions) =>
        run(async () => (await import('../commands/run-question.ts')).questionDeliveries, options),
    ),
    'custody question deliveries --run run-9 --fence 12',
  );
  withExample(
    ofRun(
      questions
        .command('ack')
        .description('say that the run has taken a verdict; it is offered to nobody any more')
        .argument('<id>', 'id of the question'),
    ).action((questionId: string, options: Omit<QuestionAckOptions, 'questionId'>) =>
      run(async () => (await import('../commands/run-question.ts')).questionAck, { ...options, questionId }),
    ),
    'custody question ack question-7 --run run-9 --fence 12',
  );
}
