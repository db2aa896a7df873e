import { questionFacts } from '../questions/question.ts';
import { parkedQuestion } from '../questions/resume.ts';
import type { NewEvent } from '../recorded-event.ts';
import { openParents } from './completion.ts';
import { synthesizedStart } from './decide-complete.ts';
import type { Decision } from './decision.ts';
import { accept, refuse } from './decision.ts';
import { findTask, guardHolder } from './holder-guard.ts';
import type { BlockKind, ManagedTask } from './managed-task.ts';
import type { ManagedScope } from './scope.ts';

/** Blocks of one kind in a row after which nobody tries again before a person has looked. */
const RECURRENCE_LIMIT = 2;

/** The events of which one says that a task is held up. */
export const BLOCK_TYPES: readonly string[] = [
  'task.blocked',
  'task.dependency_wait',
  'task.block_loop_detected',
];

/** Holds a task up, by its holder or by an operator. */
export interface Block {
  readonly taskId: string;
  /** The holder's run and fence; null for an operator. */
  readonly held: { readonly runId: string; readonly fence: number } | null;
  readonly reason: string | null;
  readonly kind: BlockKind | null;
  /** The id of the run that is made up when nobody holds the task and a reason is given. */
  readonly madeUpRunId: string;
}

/** Blocks a task; the second block of one kind in a row sends it to triage, one by dependency makes it wait. */
export function decideBlock(scope: ManagedScope, command: Block): Decision {
  const found =
    command.held === null
      ? findTask(scope, command.taskId)
      : guardHolder(scope, { taskId: command.taskId, ...command.held });
  if (!found.ok) return found.decision;
  const { task } = found;
  if (task.status !== 'running' && task.status !== 'ready') {
    return refuse('status_not_blockable', { task_id: task.task_id, status: task.status });
  }
  const madeUp = task.current_run_id === null && command.reason !== null ? command.madeUpRunId : null;
  const runId = task.current_run_id ?? madeUp;
  return accept([
    ...(madeUp === null ? [] : [synthesizedStart(task, { runId: madeUp, holder: 'operator' })]),
    blockEvent(scope, task, { ...command, runId }),
  ]);
}

function blockEvent(
  scope: ManagedScope,
  task: ManagedTask,
  command: Block & { readonly runId: string | null },
): NewEvent {
  const isWaiting = command.kind === 'dependency' && openParents(scope, task).length > 0;
  // Waiting for nothing would come back for ever; a person has to say what is missing.
  const isRekinded = command.kind === 'dependency' && !isWaiting;
  const kind = isRekinded ? 'needs_input' : command.kind;
  const base = {
    task_id: task.task_id,
    ...(command.runId === null ? {} : { run_id: command.runId }),
    reason: command.reason,
    kind,
    source_status: task.status,
  };
  if (isWaiting) return { type: 'task.dependency_wait', ...base };
  const recurrences = task.block_kind === kind ? task.block_recurrences + 1 : 1;
  if (recurrences >= RECURRENCE_LIMIT)
    return { type: 'task.block_loop_detected', ...base, recurrences, limit: RECURRENCE_LIMIT };
  const rekinded = isRekinded ? { requested_kind: 'dependency', rekind_reason: 'no_open_parent' } : {};
  return { type: 'task.blocked', ...base, recurrences, ...rekinded };
}

/** Lets a blocked task go on, but not one that waits for an answer: its answer does that. What it was blocked by is remembered, so that a loop is noticed. */
export function decideUnblock(scope: ManagedScope, command: { readonly taskId: string }): Decision {
  const found = findTask(scope, command.taskId);
  if (!found.ok) return found.decision;
  const { task } = found;
  if (task.status !== 'blocked' && task.status !== 'scheduled')
    return refuse('not_blocked', { task_id: task.task_id, status: task.status });
  const question = parkedQuestion(scope, task);
  if (question !== null)
    return refuse('question_open', {
      task_id: task.task_id,
      status: task.status,
      question: questionFacts(question),
    });
  const status = openParents(scope, task).length > 0 ? 'todo' : 'ready';
  return accept([{ type: 'task.unblocked', task_id: task.task_id, status }]);
}
