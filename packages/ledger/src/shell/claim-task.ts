import type { JsonObject, JsonValue } from '../core/json.ts';
import { textOf } from '../core/json.ts';
import { decideClaim } from '../core/managed/decide-claim.ts';
import type { RefusalReason } from '../core/managed/decision.ts';
import type { ProcessIdentity } from '../core/managed/managed-task.ts';
import type { ManagedScope } from '../core/managed/scope.ts';
import { questionFacts } from '../core/questions/question.ts';
import { pendingQuestion } from '../core/questions/resume.ts';
import type { RecordedEvent } from '../core/recorded-event.ts';
import { UsageError } from '../errors.ts';
import type { ManagedStore } from '../ports/managed-store.ts';
import type { ProcessControl } from '../ports/process-control.ts';
import { idArgument, integerArgument, spanArgument, textArgument } from './arguments.ts';

/** A granted claim. */
export interface Claimed {
  readonly outcome: 'claimed';
  readonly task_id: string;
  readonly run_id: string;
  readonly fence: number;
  readonly expires_at: string;
  /** True if the newest question of the task still waits for its answer: the conversation starts with it. */
  readonly pending_question: boolean;
  readonly question: JsonObject | null;
  /** Answers that no earlier run has heard. */
  readonly resume_notice: string | null;
}

/** There was nothing to claim, and why. */
export interface NothingClaimed {
  readonly outcome: 'none';
  readonly reason: RefusalReason;
  readonly [fact: string]: JsonValue | undefined;
}

/** A holder asks for work. */
export interface Claim {
  readonly holder: string;
  /** @default whatever is due */
  readonly taskId?: string;
  readonly ttlMs?: number;
  /** The process that a reclaim stops. */
  readonly pid?: number;
  readonly process?: ProcessIdentity;
}

/** Asks for a task, and begins a run on it. */
export async function claimTask(
  store: ManagedStore,
  processes: ProcessControl,
  claim: Claim,
): Promise<Claimed | NothingClaimed> {
  const holder = textArgument('holder', claim.holder);
  const taskId = claim.taskId === undefined ? null : idArgument('task_id', claim.taskId);
  const ttlMs = spanArgument('ttl', claim.ttlMs);
  const command = {
    taskId,
    holder,
    ttlMs,
    runId: store.newId(),
    process: claim.process ?? (await identify(processes, claim.pid)),
  };
  const request = {
    ...(taskId === null ? { taskIds: [], claimableBy: holder } : { taskIds: [taskId] }),
    effect: ['run.started'],
  };
  const decided = await store.decide(request, (scope) => decideClaim(scope, command));
  if (decided.outcome === 'refused') return { ...decided.refusal, outcome: 'none' };
  const { repeats } = decided;
  const runId = repeats === undefined ? command.runId : textOf(repeats, 'run_id');
  const places = taskId === null ? decided.after.candidates : [taskId];
  const claimed =
    [...places, ...(repeats === undefined ? [] : [textOf(repeats, 'task_id')])].find(
      (id) => decided.after.leaseOf(id)?.run_id === runId,
    ) ?? '';
  const lease = decided.after.leaseOf(claimed);
  const task = decided.after.taskOf(claimed);
  const run = task?.runs.at(-1);
  if (repeats !== undefined && lease?.open !== true) return lostAgain(decided.after, repeats);
  if (lease === null || task === null || run === undefined)
    throw new Error(`the store granted run ${runId} and does not know its lease`);
  const question = pendingQuestion(decided.after, task);
  return {
    outcome: 'claimed',
    task_id: claimed,
    run_id: runId,
    fence: lease.fence,
    expires_at: new Date(lease.expires_at_ms).toISOString(),
    pending_question: question !== null,
    question: question === null ? null : questionFacts(question),
    resume_notice: run.resume_notice,
  };
}

/** A claim that was granted before, by a request that is made again, and whose run does not hold the task any more. */
function lostAgain(scope: ManagedScope, granted: RecordedEvent): NothingClaimed {
  const task = scope.taskOf(textOf(granted, 'task_id'));
  return {
    outcome: 'none',
    reason: 'not_current_run',
    task_id: textOf(granted, 'task_id'),
    run_id: textOf(granted, 'run_id'),
    current_run_id: task?.current_run_id ?? null,
    status: task?.status ?? null,
  };
}

/** Who has a pid on this host. @throws UsageError if nobody has. */
export async function identify(
  processes: ProcessControl,
  pid: number | undefined,
): Promise<ProcessIdentity | null> {
  if (pid === undefined) return null;
  const identity = await processes.identify(integerArgument('pid', pid, 1));
  if (identity !== null) return identity;
  throw new UsageError('invalid_option', `there is no process ${pid} on this host`, {
    hint: 'Give the pid of the running worker, or none.',
    facts: { field: 'pid', value: pid },
  });
}
