import type { Reconciler } from '@custody/reconciler';
import { createReconciler } from '@custody/reconciler';
import { anyTask, observedTask } from './observed-steps.ts';
import type { Step } from './step.ts';
import type { Running, World } from './world.ts';

/** What a healing pass said of itself, as far as it is looked at. */
export interface PassDone {
  readonly kind: 'backfill' | 'sweep' | 'clear';
  /** Tasks whose owners were said to be alive; null = that was not known. */
  readonly live: readonly string[] | null;
  readonly refreshed: readonly string[];
  readonly failed: readonly string[];
  readonly deferred: readonly string[];
  /** False if the log could not be read meanwhile. */
  readonly isReadable: boolean;
  /** The only task that was looked at; null = all. */
  readonly taskId: string | null;
}

/** What a pass came to: in words, and for those who check it. */
export interface PassOutcome {
  readonly said: string;
  readonly done: PassDone | null;
}

function reconcilerOf(world: World, running: Running): Reconciler {
  return createReconciler(running.ledger, {
    gateway: running.gateway,
    journals: world.place.kind === 'jsonl' ? [] : [running.journals],
    holder: 'simulated',
  });
}

/** The owners that are said to be alive. */
export function liveTasks(number: number): readonly string[] | null {
  if (number % 5 === 0) return null;
  return number % 2 === 0 ? [] : [observedTask(number), observedTask(number + 1)];
}

export async function backfill(world: World, running: Running): Promise<PassOutcome> {
  const isReadable = world.unreadableFor === 0;
  const report = await reconcilerOf(world, running).backfill();
  if ('outcome' in report) throw new Error('a backfill without a plan was refused');
  const failed = report.failed.map((item) => item.task_id);
  return {
    said: `examined ${report.examined}, refreshed ${report.refreshed.join(' ')}${failed.length > 0 ? `, failed ${failed.join(' ')}` : ''}`,
    done: {
      kind: 'backfill',
      live: null,
      refreshed: report.refreshed,
      failed,
      deferred: [],
      isReadable,
      taskId: null,
    },
  };
}

export async function sweep(
  world: World,
  running: Running,
  live: readonly string[] | null,
): Promise<PassOutcome> {
  const isReadable = world.unreadableFor === 0;
  const report = await reconcilerOf(world, running).sweep({ live });
  if ('outcome' in report) throw new Error('a sweep without a plan was refused');
  const failed = report.failed.map((item) => item.task_id);
  const orphans = report.orphans.map(
    ({ action, run_id, invocation_id }) => `${String(run_id ?? invocation_id)}=${action}`,
  );
  return {
    said: `live ${live === null ? 'unknown' : `[${live.join(' ')}]`} scanned ${report.events_scanned} refreshed ${report.refreshed.join(' ')} deferred ${report.deferred.join(' ')} orphans ${orphans.join(' ')} requeued ${report.requeued.join(' ')}${failed.length > 0 ? ` failed ${failed.join(' ')}` : ''}`,
    done: {
      kind: 'sweep',
      live,
      refreshed: report.refreshed,
      failed,
      deferred: report.deferred,
      isReadable,
      taskId: null,
    },
  };
}

export async function clear(world: World, running: Running, step: Step): Promise<PassOutcome> {
  const isReadable = world.unreadableFor === 0;
  const taskId = anyTask(world, step.a);
  const report = await reconcilerOf(world, running).clear(taskId);
  if ('outcome' in report) throw new Error('a clear without a plan was refused');
  const failed = report.failed.map((item) => item.task_id);
  return {
    said: `${taskId} ${report.refreshed ? 'refreshed' : 'left'}`,
    done: {
      kind: 'clear',
      live: null,
      refreshed: report.refreshed ? [taskId] : [],
      failed,
      deferred: [],
      isReadable,
      taskId,
    },
  };
}

/** A dry run, something in between, and the plan as it was printed: applied exactly, or refused. */
export async function planned(
  world: World,
  running: Running,
  between: () => Promise<string>,
): Promise<PassOutcome> {
  const reconciler = reconcilerOf(world, running);
  const plan = await reconciler.backfill({ dryRun: true });
  if ('outcome' in plan) throw new Error('a dry run was refused');
  const meanwhile = await between();
  const applied = await reconciler.backfill({ plan: plan.plan_hash ?? '' });
  if ('outcome' in applied)
    return { said: `planned ${plan.refreshed.join(' ')}; ${meanwhile}; refused`, done: null };
  const isExact = applied.refreshed.every((id) => plan.refreshed.includes(id));
  world.figures.hold(
    'P5',
    isExact,
    () => `planned ${plan.refreshed.join(' ')}, applied ${applied.refreshed.join(' ')}`,
  );
  return { said: `planned and applied ${applied.refreshed.join(' ')}; ${meanwhile}`, done: null };
}
