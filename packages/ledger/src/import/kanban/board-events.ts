import { derivedId } from '../../core/event-hash.ts';
import type { JsonObject } from '../../core/json.ts';
import { compareCodePoints, isJsonObject } from '../../core/json.ts';
import type { NewEvent } from '../../core/recorded-event.ts';
import type { BoardRow } from './board-values.ts';
import { integerIn, jsonOf, textIn, timeOf, withoutNull } from './board-values.ts';

/** Events, or why there is none: `noise` belongs into no log, `invalid` can't be kept. */
export type Mapped =
  | { readonly event: NewEvent }
  | { readonly skipped: 'noise' | 'invalid'; readonly reason: string };

/** Signs of life are no history, and a claim is told by the start of its run. */
const NOISE: Readonly<Record<string, string>> = {
  heartbeat: 'sign of life',
  claim_extended: 'sign of life',
  claimed: 'told by the start of its run',
};

/** How the ends of a board's runs are told as states of ours. */
const STATES: Readonly<Record<string, string>> = {
  completed: 'succeeded',
  review_requested: 'succeeded',
  crashed: 'failed',
  timed_out: 'failed',
  spawn_failed: 'failed',
  gave_up: 'failed',
  protocol_violation: 'failed',
};

/** Statuses of a board that are called otherwise here. */
const STATUSES: Readonly<Record<string, string>> = { done: 'completed' };

/** A run's id here: boards count runs, and two boards count the same numbers. */
function runIdOf(taskId: string, run: number): string {
  return `${taskId}:run-${run}`;
}

/** True if the event is part of what happened to its task. */
export function isHistory(kind: string): boolean {
  return NOISE[kind] === undefined;
}

/** The start of a run, from what never changes in its row. */
export function startOf(run: BoardRow): Mapped {
  const place = placeOf(run);
  if (place === null) return invalid('run without a task or an id');
  const at = timeOf(run['started_at']);
  if (at === null) return invalid('run without a time of its start');
  const { taskId, id } = place;
  return {
    event: {
      id: derivedId(JSON.stringify(['kanban', 'start', taskId, id]), 0),
      type: 'run.started',
      at,
      task_id: taskId,
      run_id: runIdOf(taskId, id),
      role: 'attempt',
      ...withoutNull({ profile_id: textIn(run, 'profile'), step_key: textIn(run, 'step_key') }),
    },
  };
}

/** The end of a run; null while it is open. One that a replay rewrote is another event. */
export function endOf(run: BoardRow): Mapped | null {
  if (run['ended_at'] === null || run['ended_at'] === undefined) return null;
  const place = placeOf(run);
  const at = timeOf(run['ended_at']);
  if (place === null || at === null) return invalid('run without a time of its end');
  const outcome = textIn(run, 'outcome') ?? textIn(run, 'status') ?? 'unknown';
  const told = withoutNull({
    state: STATES[outcome] ?? 'interrupted',
    outcome_reason: outcome,
    summary: textIn(run, 'summary'),
    error: textIn(run, 'error'),
    metadata: parsed(run['metadata']),
  });
  return {
    event: {
      id: derivedId(JSON.stringify(['kanban', 'end', place.taskId, place.id, at, told]), 0),
      type: 'run.settled',
      at,
      task_id: place.taskId,
      run_id: runIdOf(place.taskId, place.id),
      ...told,
    },
  };
}

/** An entry of a board's history, under a type of its own. */
export function noteOf(entry: BoardRow): Mapped {
  const kind = textIn(entry, 'kind') ?? '';
  const noise = NOISE[kind];
  if (noise !== undefined) return { skipped: 'noise', reason: noise };
  const place = placeOf(entry);
  const at = timeOf(entry['created_at']);
  if (place === null || at === null) return invalid('event without a task, an id or a time');
  const run = integerIn(entry, 'run_id');
  const payload = entry['payload'];
  const told = parsed(payload);
  if (typeof payload === 'string' && told === undefined) return invalid('event whose payload is no JSON');
  return {
    event: {
      id: derivedId(JSON.stringify(['kanban', 'event', place.taskId, place.id]), 0),
      type: `x.kanban.${kind}`,
      at,
      task_id: place.taskId,
      ...(run === null ? {} : { run_id: runIdOf(place.taskId, run) }),
      ...withoutNull({ payload: told }),
    },
  };
}

/** Columns of a task that say who works on it just now, or that stand under another name. */
const LEFT_OUT: ReadonlySet<string> = new Set([
  'id',
  'status',
  'claim_lock',
  'claim_expires',
  'worker_pid',
  'worker_started_at',
  'last_heartbeat_at',
  'reclaim_reserved_at',
  'current_run_id',
  'completed_run_id',
  'created_at',
  'started_at',
  'completed_at',
  'last_failure_error',
]);

/** The row of a task here; null if the board's has no id or no status. */
export function rowOf(task: BoardRow): (JsonObject & { readonly task_id: string }) | null {
  const taskId = textIn(task, 'id');
  const status = textIn(task, 'status');
  if (taskId === null || status === null) return null;
  const isArchived = status === 'archived';
  const ended = timeOf(task['completed_at']);
  const archivedAs = ended === null ? 'cancelled' : 'completed';
  const runId = (column: string): string | null => {
    const run = integerIn(task, column);
    return run === null ? null : runIdOf(taskId, run);
  };
  const others = Object.entries(task).filter(([name]) => !LEFT_OUT.has(name));
  return {
    task_id: taskId,
    status: isArchived ? archivedAs : (STATUSES[status] ?? status),
    ...withoutNull({
      // A field that is new may still come to a terminal row; one that changes may not.
      archived: isArchived ? true : null,
      ...Object.fromEntries(others.map(([name, value]) => [name, jsonOf(value)])),
      error: textIn(task, 'last_failure_error'),
      current_run_id: runId('current_run_id'),
      completed_run_id: runId('completed_run_id'),
      ts: timeOf(task['created_at']),
      started_at: timeOf(task['started_at']),
      completed_at: ended,
    }),
  };
}

/** The event that records a row. `lastEvent` tells a row that was so before from one that became so again. */
export function recordOf(
  row: JsonObject & { readonly task_id: string },
  lastEvent: BoardRow | null,
): NewEvent {
  const { ts, started_at, completed_at } = row;
  const times = [ts, started_at, completed_at, timeOf(lastEvent?.['created_at'])];
  const at = times
    .filter((time): time is string => typeof time === 'string')
    .sort(compareCodePoints)
    .at(-1);
  const mark = lastEvent === null ? 0 : integerIn(lastEvent, 'id');
  return {
    ...row,
    id: derivedId(JSON.stringify(['kanban', 'task', mark, row]), 0),
    type: 'task.recorded',
    ...(at === undefined ? {} : { at }),
  };
}

function placeOf(row: BoardRow): { readonly taskId: string; readonly id: number } | null {
  const taskId = textIn(row, 'task_id');
  const id = integerIn(row, 'id');
  return taskId === null || id === null ? null : { taskId, id };
}

function invalid(reason: string): Mapped {
  return { skipped: 'invalid', reason };
}

/** The object or list in a JSON text; undefined if there is none. */
function parsed(text: unknown): JsonObject | undefined {
  if (typeof text !== 'string') return undefined;
  try {
    const value: unknown = JSON.parse(text);
    return isJsonObject(value) ? value : { value: value as JsonObject[string] };
  } catch {
    return undefined;
  }
}
