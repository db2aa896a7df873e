import type { JsonObject, JsonValue } from '../core/json.ts';
import { BLOCK_TYPES, decideBlock } from '../core/managed/decide-block.ts';
import { decideHeartbeat, decidePush, decideRefresh } from '../core/managed/decide-claim.ts';
import { decideComplete } from '../core/managed/decide-complete.ts';
import { decideFail } from '../core/managed/decide-end.ts';
import type { WorkerExit } from '../core/managed/decide-exit.ts';
import { decideExit } from '../core/managed/decide-exit.ts';
import { decideFinalize } from '../core/managed/decide-finalize.ts';
import { decideReplay } from '../core/managed/decide-replay.ts';
import { decideSubmit } from '../core/managed/decide-submit.ts';
import type { Refusal } from '../core/managed/decision.ts';
import type { BlockKind, TaskStatus } from '../core/managed/managed-task.ts';
import type { CustodyReader } from '../ports/custody-reader.ts';
import type { ManagedStore } from '../ports/managed-store.ts';
import type { ProcessControl } from '../ports/process-control.ts';
import {
  fenceArgument,
  idArgument,
  optionalText,
  refuseBoth,
  spanArgument,
  textArgument,
} from './arguments.ts';
import type { Claim, Claimed, NothingClaimed } from './claim-task.ts';
import { claimTask } from './claim-task.ts';
import type { HeldRun } from './held-run.ts';
import { heldRun as held } from './held-run.ts';
import type { RunReport } from './list-runs.ts';
import { listRuns } from './list-runs.ts';
import type { AskingRuns } from './managed-questions.ts';
import { askingRuns } from './managed-questions.ts';
import { kindArgument } from './managed-tasks.ts';
import type { Reclaimed } from './reclaim-run.ts';
import { reclaimRun } from './reclaim-run.ts';

/** The same, with the task that the holder believes to hold. */
export interface HeldTask extends HeldRun {
  readonly taskId: string;
}

/** What a run brings at its end. */
export interface RunCompletion {
  readonly taskId: string;
  readonly runId: string;
  /** The fence of the run that holds the task; absent with `replay`. */
  readonly fence?: number;
  /** Turn this run, which ended, into the completion, if it is the latest and nobody acted since. */
  readonly replay?: boolean;
  readonly result: JsonValue;
  /** @default the result, if it is text */
  readonly summary?: string | null;
  readonly metadata?: JsonObject | null;
}

/** A task was completed by a run. */
export interface RunCompleted {
  readonly outcome: 'completed';
  readonly task_id: string;
  readonly run_id: string;
  readonly replayed: boolean;
  readonly seq: number;
}

/** Commands of holders. Each is judged by run and fence in the transaction that writes; a refusal wrote nothing. */
export interface ManagedRuns extends AskingRuns {
  /** Asks for a task: the given one, or the oldest ready one of the highest priority. */
  claim(claim: Claim): Promise<Claimed | NothingClaimed>;
  heartbeat(
    beat: HeldRun & { readonly ttlMs?: number },
  ): Promise<{ readonly outcome: 'extended'; readonly expires_at: string } | Refusal>;
  /** Tells the holder of a run its current fence; a failover gave it a new one. */
  refresh(run: {
    readonly runId: string;
    readonly holder: string;
  }): Promise<
    { readonly outcome: 'refreshed'; readonly fence: number; readonly expires_at: string } | Refusal
  >;
  /** Reports a state; a sign of life as well. */
  push(
    report: HeldRun & { readonly state: string; readonly note?: string | null },
  ): Promise<{ readonly outcome: 'recorded' } | Refusal>;
  /** Hands in the outcome of a step exactly once; the same key answers what was stored. */
  submit(
    step: HeldTask & { readonly idempotencyKey: string; readonly value: JsonValue },
  ): Promise<
    { readonly outcome: 'applied'; readonly replayed: boolean; readonly value: JsonValue } | Refusal
  >;
  complete(end: RunCompletion): Promise<RunCompleted | Refusal>;
  /**
   * Turns a result that was kept in a journal into the completion of its task, if its run still may. Needs no fence:
   * the result had been accepted from exactly this run.
   */
  finalize(
    end: Omit<RunCompletion, 'fence' | 'replay'>,
  ): Promise<
    | { readonly outcome: 'applied' | 'already_applied'; readonly task_id: string; readonly run_id: string }
    | Refusal
  >;
  /** Ends the task as failed. */
  fail(
    end: HeldTask & { readonly reason: string; readonly error?: string | null },
  ): Promise<{ readonly outcome: 'failed'; readonly task_id: string; readonly status: TaskStatus } | Refusal>;
  block(
    hold: HeldTask & { readonly reason?: string | null; readonly kind?: BlockKind | null },
  ): Promise<
    { readonly outcome: 'blocked'; readonly task_id: string; readonly status: TaskStatus } | Refusal
  >;
  /** Reports that the process of a run ended without a word about the task. */
  exited(
    report: HeldTask & { readonly exit: WorkerExit },
  ): Promise<{ readonly outcome: 'ended'; readonly task_id: string; readonly status: TaskStatus } | Refusal>;
  /** Takes a task away from exactly this run; stops its worker first. */
  reclaim(run: {
    readonly taskId: string;
    readonly runId: string;
    readonly reason?: string | null;
  }): Promise<Reclaimed | Refusal>;
  /** Every run of a task, attempts and delegates, oldest first. */
  list(taskId: string): Promise<readonly RunReport[]>;
}

/** What the commands of holders rest on. */
export interface ManagedRunsParts {
  readonly store: ManagedStore;
  readonly custody: CustodyReader;
  readonly processes: ProcessControl;
}

/** Commands of holders on the tasks of a store. */
export function managedRuns({ store, custody, processes }: ManagedRunsParts): ManagedRuns {
  const statusOf = (
    taskId: string,
    after: { taskOf(id: string): { readonly status: TaskStatus } | null },
  ): TaskStatus => {
    const task = after.taskOf(taskId);
    if (task === null)
      throw new Error(`the store carried out a command on ${taskId} and does not know the task`);
    return task.status;
  };

  return {
    ...askingRuns(store),
    claim: (claim) => claimTask(store, processes, claim),
    heartbeat: async (beat) => {
      const command = { ...held(beat), ttlMs: spanArgument('ttl', beat.ttlMs) };
      const decided = await store.decide({ taskIds: [], runId: command.runId }, (scope) =>
        decideHeartbeat(scope, command),
      );
      if (decided.outcome === 'refused') return decided.refusal;
      const owner = decided.after.runOwner ?? '';
      return {
        outcome: 'extended',
        expires_at: new Date(decided.after.leaseOf(owner)?.expires_at_ms ?? 0).toISOString(),
      };
    },
    refresh: async (run) => {
      const command = { runId: idArgument('run_id', run.runId), holder: textArgument('holder', run.holder) };
      const decided = await store.decide({ taskIds: [], runId: command.runId }, (scope) =>
        decideRefresh(scope, command),
      );
      if (decided.outcome === 'refused') return decided.refusal;
      const { fence, expires_at } = decided.answer as { fence: number; expires_at: string };
      return { outcome: 'refreshed', fence, expires_at };
    },
    push: async (report) => {
      const command = {
        ...held(report),
        state: textArgument('state', report.state),
        note: optionalText('note', report.note),
      };
      const decided = await store.decide(
        { taskIds: [], runId: command.runId, effect: ['run.pushed'] },
        (scope) => decidePush(scope, command),
      );
      return decided.outcome === 'refused' ? decided.refusal : { outcome: 'recorded' };
    },
    submit: async (step) => {
      const command = {
        ...heldTask(step),
        idempotencyKey: textArgument('key', step.idempotencyKey),
        value: step.value,
      };
      const request = {
        taskIds: [command.taskId],
        runId: command.runId,
        idempotencyKey: command.idempotencyKey,
      };
      const decided = await store.decide(request, (scope) => decideSubmit(scope, command));
      if (decided.outcome === 'refused') return decided.refusal;
      const { replayed, value } = decided.answer;
      return { outcome: 'applied', replayed: replayed === true, value: value ?? null };
    },
    complete: (end) => completeRun(store, end),
    finalize: (end) => finalizeRun(store, end),
    fail: async (end) => {
      const command = {
        ...heldTask(end),
        reason: textArgument('reason', end.reason),
        error: optionalText('error', end.error),
      };
      const request = {
        taskIds: [command.taskId],
        runId: command.runId,
        evidence: true,
        effect: ['task.failed'],
      };
      const decided = await store.decide(request, (scope) => decideFail(scope, command));
      if (decided.outcome === 'refused') return decided.refusal;
      return { outcome: 'failed', task_id: command.taskId, status: statusOf(command.taskId, decided.after) };
    },
    block: async (hold) => {
      const { taskId, runId, fence } = heldTask(hold);
      const command = {
        taskId,
        held: { runId, fence },
        reason: optionalText('reason', hold.reason),
        kind: kindArgument(hold.kind),
        madeUpRunId: store.newId(),
      };
      const decided = await store.decide({ taskIds: [taskId], runId, effect: BLOCK_TYPES }, (scope) =>
        decideBlock(scope, command),
      );
      if (decided.outcome === 'refused') return decided.refusal;
      return { outcome: 'blocked', task_id: taskId, status: statusOf(taskId, decided.after) };
    },
    exited: async (report) => {
      const command = { ...heldTask(report), exit: report.exit };
      const decided = await store.decide(
        { taskIds: [command.taskId], runId: command.runId, effect: ['run.ended'] },
        (scope) => decideExit(scope, command),
      );
      if (decided.outcome === 'refused') return decided.refusal;
      return { outcome: 'ended', task_id: command.taskId, status: statusOf(command.taskId, decided.after) };
    },
    reclaim: async (run) => {
      const taskId = idArgument('task_id', run.taskId);
      return reclaimRun(store, processes, {
        taskId,
        runId: idArgument('run_id', run.runId),
        reason: optionalText('reason', run.reason),
      });
    },
    list: (taskId) => listRuns(store, custody, idArgument('task_id', taskId)),
  };
}

function heldTask(run: HeldTask): {
  readonly taskId: string;
  readonly runId: string;
  readonly fence: number;
} {
  return { ...held(run), taskId: idArgument('task_id', run.taskId) };
}

async function finalizeRun(
  store: ManagedStore,
  end: Parameters<ManagedRuns['finalize']>[0],
): ReturnType<ManagedRuns['finalize']> {
  const ids = { taskId: idArgument('task_id', end.taskId), runId: idArgument('run_id', end.runId) };
  const command = {
    ...ids,
    result: end.result,
    summary: optionalText('summary', end.summary),
    metadata: end.metadata ?? null,
  };
  const request = { taskIds: [ids.taskId], runId: ids.runId, evidence: true, children: true };
  const decided = await store.decide(request, (scope) => decideFinalize(scope, command));
  if (decided.outcome === 'refused') return decided.refusal;
  return {
    outcome: decided.seqs.length > 0 ? 'applied' : 'already_applied',
    task_id: ids.taskId,
    run_id: ids.runId,
  };
}

async function completeRun(store: ManagedStore, end: RunCompletion): Promise<RunCompleted | Refusal> {
  const isReplay = end.replay === true;
  if (isReplay && end.fence !== undefined) refuseBoth('fence', 'replay');
  const taskId = idArgument('task_id', end.taskId);
  const runId = idArgument('run_id', end.runId);
  const completion = {
    taskId,
    runId,
    result: end.result,
    summary: optionalText('summary', end.summary),
    metadata: end.metadata ?? null,
  };
  const fence = isReplay ? 0 : fenceArgument(end.fence);
  const request = { taskIds: [taskId], runId, evidence: true, children: true, effect: ['task.completed'] };
  const decided = await store.decide(request, (scope) =>
    isReplay ? decideReplay(scope, completion) : decideComplete(scope, { ...completion, fence }),
  );
  if (decided.outcome === 'refused') return decided.refusal;
  return {
    outcome: 'completed',
    task_id: taskId,
    run_id: runId,
    replayed: isReplay,
    seq: decided.seqs[0] ?? 0,
  };
}
