import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { custodyRows, readChain } from '../oracle/chain.ts';
import { foldRows } from '../oracle/fold.ts';
import type { JsonFields } from './root-json.ts';
import type { RootOptions, RootPlan } from './root-plan.ts';
import { emit, layTrap } from './root-plan.ts';
import { seededRandom } from './root-random.ts';
import { writeRows } from './root-rows.ts';
import { planRuns } from './root-runs.ts';
import { writeSegments } from './root-segments.ts';
import { writeStrays } from './root-strays.ts';

/** What was generated: how often each kind of trap was laid. */
export interface GeneratedRoot {
  readonly taskIds: readonly string[];
  readonly traps: ReadonlyMap<string, number>;
}

/** Ids that are no plain `task-00000`; those beyond ASCII can have no row and are deferred for ever. */
const ODD_TASK_IDS = [
  'constructor',
  'toString',
  'Task-00001',
  't',
  '7',
  'task_1.x-y',
  'x'.repeat(128),
  'task-\uff5e',
  'task-\u{1f600}',
  '__proto__',
  'task 1',
  '../task-00001',
] as const;

/** How much of the log stood there when the older rows were written. */
const MOMENTS = [0.15, 0.4, 0.7, 0.9] as const;

/**
 * Invents a data root in the form in which an orchestrator leaves one on disk: a log in segments, task rows,
 * replicas, and files that are none of these. The same options give the same bytes.
 *
 * @param dir an empty or absent directory.
 */
export function generateRoot(dir: string, options: RootOptions): GeneratedRoot {
  const plan: RootPlan = {
    options,
    random: seededRandom(options.seed),
    taskIds: taskIds(options.tasks),
    events: [],
    faultEvents: [],
    traps: new Map(),
  };
  planRuns(plan);
  planAuditRows(plan);
  writeStrays(dir, plan);
  writeLog(dir, plan);
  // What the rows disclose is told from the log as it stands on disk, so that torn and broken lines count.
  const rows = custodyRows(readChain(dir));
  writeRows(dir, plan, [
    foldRows(rows),
    ...MOMENTS.map((part) => foldRows(rows.slice(0, Math.floor(rows.length * part)))),
  ]);
  return { taskIds: plan.taskIds, traps: plan.traps };
}

function writeLog(dir: string, plan: RootPlan): void {
  const { archived, live } = writeSegments(plan);
  mkdirSync(join(dir, 'archive'), { recursive: true });
  mkdirSync(join(dir, 'logs'), { recursive: true });
  for (const { name, content } of archived) writeFileSync(join(dir, 'archive', name), content);
  writeFileSync(join(dir, 'logs', 'events.jsonl'), live);
}

/** Rows that tell of earlier audits; no fold may read them. */
function planAuditRows(plan: RootPlan): void {
  const { random } = plan;
  for (let index = 0; index < plan.options.tasks / 2; index += 1) {
    const atMs = plan.events[random.int(0, Math.max(0, plan.events.length - 1))]?.atMs ?? 0;
    const about = { task_id: random.pick(plan.taskIds), trigger: 'terminal_boundary' };
    const lists = {
      audit_status: 'ok',
      open_run_ids: ['run-gone'],
      pending_invocation_ids: [],
      undisposed_patch_run_ids: [],
    };
    const row: JsonFields = random.chance(0.5)
      ? { type: 'delegated_runs_unreconciled', ...about, run_ids: ['run-gone'], ...lists }
      : { type: 'delegate_terminal_custody_reconciled', ...about, outcome_count: 0 };
    layTrap(plan, 'row of an earlier audit');
    emit(plan, atMs + 1, row);
  }
}

function taskIds(count: number): readonly [string, ...string[]] {
  const plain = Array.from({ length: count }, (_, index) => `task-${String(index).padStart(5, '0')}`);
  // The odd ones take the place of the last plain ones, if there are enough of these.
  const odd = count >= ODD_TASK_IDS.length * 3 ? ODD_TASK_IDS : [];
  return ['task-00000', ...plain.slice(1, count - odd.length), ...odd];
}
