import type { HttpChannel } from '../adapters/http/http-channel.ts';
import type { ProcessControl } from '../ports/process-control.ts';
import { fenceArgument, idArgument, refuseBoth } from '../shell/arguments.ts';
import type { Claim } from '../shell/claim-task.ts';
import { identify } from '../shell/claim-task.ts';
import type { RunReport } from '../shell/list-runs.ts';
import type { ManagedRuns } from '../shell/managed-runs.ts';
import type { Send } from './remote-commands.ts';
import { runPath } from './remote-commands.ts';

/** Commands of holders, over HTTP. */
export function remoteRuns(channel: HttpChannel, send: Send, processes: ProcessControl): ManagedRuns {
  return {
    claim: async (claim) => send('/claims', await identified(claim, processes)),
    heartbeat: async ({ runId, fence, ttlMs }) =>
      send(runPath(runId, 'heartbeat'), { fence: fenceArgument(fence), ttlMs }),
    refresh: async ({ runId, holder }) => send(runPath(runId, 'refresh'), { holder }),
    push: async ({ runId, fence, state, note }) =>
      send(runPath(runId, 'push'), { fence: fenceArgument(fence), state, note }),
    submit: async ({ runId, taskId, fence, idempotencyKey, value }) =>
      send(runPath(runId, 'submit'), { taskId, fence: fenceArgument(fence), idempotencyKey, value }),
    complete: async ({ runId, taskId, fence, replay, result, summary, metadata }) => {
      if (replay === true && fence !== undefined) refuseBoth('fence', 'replay');
      const by = replay === true ? { replay } : { fence: fenceArgument(fence) };
      return send(runPath(runId, 'complete'), { taskId, ...by, result, summary, metadata });
    },
    finalize: async ({ runId, taskId, result, summary, metadata }) =>
      send(runPath(runId, 'finalize'), { taskId, result, summary, metadata }),
    fail: async ({ runId, taskId, fence, reason, error }) =>
      send(runPath(runId, 'fail'), { taskId, fence: fenceArgument(fence), reason, error }),
    block: async ({ runId, taskId, fence, reason, kind }) =>
      send(runPath(runId, 'block'), { taskId, fence: fenceArgument(fence), reason, kind }),
    exited: async ({ runId, taskId, fence, exit }) =>
      send(runPath(runId, 'exited'), { taskId, fence: fenceArgument(fence), exit }),
    reclaim: async ({ runId, taskId, reason }) => send(runPath(runId, 'reclaim'), { taskId, reason }),
    ask: async ({ runId, fence, question, options, allowText }) =>
      send(runPath(runId, 'ask'), { fence: fenceArgument(fence), question, options, allowText }),
    park: async (on) => {
      const isKnown = 'questionId' in on;
      if (isKnown && 'question' in on) refuseBoth('question_id', 'question');
      const what = isKnown
        ? { questionId: on.questionId }
        : { question: on.question, options: on.options, allowText: on.allowText };
      return send(runPath(on.runId, 'park'), { fence: fenceArgument(on.fence), ...what });
    },
    list: (taskId) => listRuns(channel, taskId),
  };
}

/** A pid means something on this host only; the server is told which process it is. */
async function identified(claim: Claim, processes: ProcessControl): Promise<object> {
  const { holder, taskId, ttlMs } = claim;
  const process = claim.process ?? (await identify(processes, claim.pid));
  return { holder, taskId, ttlMs, ...(process === null ? {} : { process }) };
}

async function listRuns(channel: HttpChannel, given: string): Promise<readonly RunReport[]> {
  const runs: RunReport[] = [];
  const path = `/tasks/${idArgument('task_id', given)}/runs`;
  for await (const line of channel.lines({ path })) {
    const run = JSON.parse(line) as RunReport | { readonly outcome: 'not_found' };
    if (run.outcome !== 'not_found') runs.push(run as RunReport);
  }
  return runs;
}
