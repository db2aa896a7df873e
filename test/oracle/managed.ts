import type { JsonObject } from './json.ts';
import { isObject, own, text } from './json.ts';

/** Where a managed task stands, by the events of its commands. */
export interface ManagedTask {
  status: string;
  current_run_id: string | null;
  /** How each attempt ended, oldest first; null while it is open. */
  outcomes: [string, string | null][];
}

/** The status that an event gives its task, where the event does not say it itself. */
const STATUS: Readonly<Record<string, string>> = {
  'task.specified': 'todo',
  'task.decomposed': 'todo',
  'task.dependency_wait': 'todo',
  'task.promoted': 'ready',
  'run.ended': 'ready',
  'claim.reclaimed': 'ready',
  'task.blocked': 'blocked',
  'task.gave_up': 'blocked',
  'task.block_loop_detected': 'triage',
  'task.completed': 'completed',
  'task.failed': 'failed',
  'task.cancelled': 'cancelled',
};

/** How an event ends the run that it names. */
const OUTCOME: Readonly<Record<string, string>> = {
  'task.blocked': 'blocked',
  'task.dependency_wait': 'blocked',
  'task.block_loop_detected': 'blocked',
  'task.completed': 'completed',
  'task.failed': 'failed',
  'task.cancelled': 'cancelled',
  'task.archived': 'reclaimed',
  'claim.reclaimed': 'reclaimed',
  'run.parked': 'parked',
};

/** Events that say the status themselves; null there means that it stays. */
const SAYS_STATUS = ['task.linked', 'task.unblocked', 'question.answered', 'run.parked'];

/** Replays the events of commands, in order, into where every managed task stands. */
export function foldManaged(events: readonly JsonObject[]): Map<string, ManagedTask> {
  const tasks = new Map<string, ManagedTask>();
  for (const event of events) {
    const taskId = text(event, 'task_id');
    const type = text(event, 'type');
    if (type === 'task.created' && !tasks.has(taskId))
      tasks.set(taskId, { status: text(event, 'status'), current_run_id: null, outcomes: [] });
    const task = tasks.get(taskId);
    if (task === undefined) continue;
    if (type === 'run.started') start(task, event);
    else {
      end(task, event, type);
      task.status = statusAfter(task, event, type);
    }
  }
  return tasks;
}

function start(task: ManagedTask, event: JsonObject): void {
  const claim = own(event, 'claim');
  if (!isObject(claim)) return;
  task.outcomes.push([text(event, 'run_id'), null]);
  if (own(claim, 'synthesized') === true) return;
  task.status = 'running';
  task.current_run_id = text(event, 'run_id');
}

function end(task: ManagedTask, event: JsonObject, type: string): void {
  const outcome = type === 'run.ended' ? text(event, 'outcome') : OUTCOME[type];
  const runId = text(event, 'run_id');
  const attempt = task.outcomes.find(([id]) => id === runId);
  if (outcome === undefined || attempt === undefined) return;
  attempt[1] = outcome;
  if (task.current_run_id === runId) task.current_run_id = null;
}

function statusAfter(task: ManagedTask, event: JsonObject, type: string): string {
  if (SAYS_STATUS.includes(type)) return text(event, 'status') || task.status;
  // A task that is filed away after its end stays what it was.
  if (type === 'task.archived') return own(event, 'evidence') === undefined ? task.status : 'cancelled';
  return STATUS[type] ?? task.status;
}
