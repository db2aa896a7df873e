import type { HttpChannel } from '../adapters/http/http-channel.ts';
import type { Question } from '../core/questions/question.ts';
import { fenceArgument, idArgument, refuseBoth } from '../shell/arguments.ts';
import type { ManagedQuestions } from '../shell/managed-questions.ts';
import type { Send } from './remote-commands.ts';
import { runPath } from './remote-commands.ts';

/** A caller without types may give both. */
interface Given {
  readonly option?: string | undefined;
  readonly text?: string | undefined;
}

/** Questions and their verdicts, over HTTP. */
export function remoteQuestions(channel: HttpChannel, send: Send): ManagedQuestions {
  const pathOf = (questionId: string, verb: string) =>
    `/questions/${idArgument('question_id', questionId)}/${verb}`;
  return {
    list: async ({ taskId, open } = {}) => {
      const task = taskId === undefined ? undefined : idArgument('task_id', taskId);
      const questions: Question[] = [];
      for await (const line of channel.lines({ path: '/questions', query: { task_id: task, open } }))
        questions.push(JSON.parse(line) as Question);
      return questions;
    },
    answer: async (verdict) => {
      const { questionId, author } = verdict;
      const { option, text }: Given = verdict;
      if (option !== undefined && text !== undefined) refuseBoth('option', 'text');
      return send(pathOf(questionId, 'answer'), { author, option, text });
    },
    deliveries: async ({ runId, fence }) => {
      const { body } = await channel.ask({
        path: runPath(runId, 'deliveries'),
        query: { fence: fenceArgument(fence) },
      });
      return body as Awaited<ReturnType<ManagedQuestions['deliveries']>>;
    },
    ack: async ({ questionId, runId, fence }) => send(pathOf(questionId, 'ack'), { runId, fence }),
  };
}
