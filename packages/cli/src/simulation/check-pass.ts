import { createReconciler } from '@custody/reconciler';
import { textIn } from './log-model.ts';
import type { Observer, Seen } from './observer.ts';
import type { PassDone } from './pass-steps.ts';
import type { World } from './world.ts';

/** Tasks whose runs ended and whose rows a sweep has yet to set right. */
export interface Owed {
  readonly taskIds: Set<string>;
  /** How much of the log was looked at. */
  readFrom: number;
}

/** Nothing is owed. */
export function createOwed(): Owed {
  return { taskIds: new Set(), readFrom: 0 };
}

/** What is looked at when things are quiet again. */
export interface PassCheck {
  readonly world: World;
  readonly observer: Observer;
  readonly owed: Owed;
  /** The pass that has just ended; null if it was something else, or did not come to its end. */
  readonly done: PassDone | null;
}

/** Checks what a healing pass promises, and keeps account of what sweeps still owe. */
export async function checkPass({ world, observer, owed, done }: PassCheck): Promise<void> {
  noteEnds(observer.last, owed);
  if (done?.isReadable === true) {
    checkRows(world, observer.last, done);
    if (done.kind === 'sweep') checkCursor(world, observer.last, { owed, done });
    if (done.kind === 'backfill') await checkAgain(world, observer);
  }
  if (done !== null && !done.isReadable) checkUnreadable(world, observer.last, done);
  // Whoever set a row right has paid what the sweep owed.
  for (const id of owed.taskIds) if (isPaid(observer.last, id)) owed.taskIds.delete(id);
}

/** After steps that ran into each other: an ended row that is not true will be looked at again. */
export async function checkSelection(world: World, observer: Observer): Promise<void> {
  const { rows, replay } = observer.last;
  const untrue = [...rows].filter(([, row]) => row.isTerminal && !replay.isTrue(row.row.value));
  if (untrue.length === 0) return;
  const selected = new Set(await (await observer.eyes()).rows.selectStale());
  for (const [id, row] of untrue) {
    world.figures.hold(
      'P3',
      selected.has(id),
      () => `the row of ${id} is taken for true, and is not: ${JSON.stringify(row.row.value)}`,
    );
  }
}

function noteEnds({ events }: Seen, owed: Owed): void {
  for (const event of events.slice(owed.readFrom)) {
    const isEnd = event.type === 'run.settled' || event.type === 'run.closed_absent';
    const taskId = textIn(event, 'task_id');
    if (isEnd && taskId !== '') owed.taskIds.add(taskId);
  }
  owed.readFrom = events.length;
}

function isPaid(seen: Seen, taskId: string): boolean {
  const row = seen.rows.get(taskId);
  return row?.isTerminal === true && seen.replay.isTrue(row.row.value);
}

/** Rows that a pass has looked at are true. */
function checkRows(world: World, seen: Seen, done: PassDone): void {
  for (const [id, row] of seen.rows) {
    const isLookedAt = done.kind === 'backfill' || done.taskId === id || done.refreshed.includes(id);
    if (!row.isTerminal || !isLookedAt || done.failed.includes(id)) continue;
    world.figures.hold(
      'P3',
      seen.replay.isTrue(row.row.value),
      () => `after a ${done.kind} the row of ${id} is not true: ${JSON.stringify(row.row.value)}`,
    );
  }
}

/** Every task whose run ended is set right, or waits by name. */
function checkCursor(
  world: World,
  seen: Seen,
  { owed, done }: { readonly owed: Owed; readonly done: PassDone },
): void {
  for (const id of owed.taskIds) {
    const waits = done.deferred.includes(id);
    world.figures.hold(
      'P7',
      isPaid(seen, id) || waits,
      () => `a run of ${id} ended; after a sweep its row is not true, and it does not wait`,
    );
  }
}

/** A second pass finds nothing to do. */
async function checkAgain(world: World, observer: Observer): Promise<void> {
  const before = observer.last;
  const report = await createReconciler(await observer.eyes()).backfill();
  if ('outcome' in report) throw new Error('a backfill without a plan was refused');
  const after = await observer.look();
  const isSame =
    report.refreshed.length === 0 &&
    after.events.length === before.events.length &&
    [...after.rows].every(([id, row]) => row.version === before.rows.get(id)?.version);
  world.figures.hold('P5', isSame, () => `a second backfill refreshed ${report.refreshed.join(' ')}`);
}

/** While the log can't be read nothing is known, and nothing may be said but that. */
function checkUnreadable(world: World, { rows }: Seen, done: PassDone): void {
  for (const id of done.refreshed) {
    const list = JSON.stringify(rows.get(id)?.row.value['delegated_runs_unreconciled']);
    world.figures.hold(
      'P15',
      list === '["delegated_run_state_unknown:custody_log_unreadable"]',
      () => `the log could not be read, and the row of ${id} says ${list}`,
    );
  }
}
