import type { JsonObject } from './json.ts';
import { isObject, isTruthy, own, text } from './json.ts';
import type { Verdict } from './verdict.ts';
import { verdictsOf } from './verdict.ts';

/** Fields of which a later STARTED row replaces the earlier one, even by nothing. */
const LAST_WINS = [
  'task_id',
  'route',
  'model',
  'profile_id',
  'project_id',
  'invocation_id',
  'idempotency_key',
  'root_task_id',
  'parent_task_id',
  'continuation_of',
] as const;

/** Fields of which the first STARTED row with a value decides. */
const FIRST_WINS = [
  'snapshot_id',
  'execution_root',
  'execution_binding_fingerprint',
  'baseline_sha',
  'target_root',
  'capture_id',
  'snapshot_task_id',
  'authority_source',
  'selected_subagent_id',
  'config_fingerprint',
  'work_order_fingerprint',
  'work_order_coverage',
  'authority_fingerprint',
  'category',
  'source',
  'review_skill',
  'review_wave_id',
  'review_slot_id',
] as const;

const DEFAULTS: JsonObject = { category: 'subagent', source: 'delegated_subagent' };

/** The record of one run. Names are those of the log. */
export interface Run extends Record<(typeof LAST_WINS)[number] | (typeof FIRST_WINS)[number], string> {
  readonly run_id: string;
  access: string;
  mode: string;
  isolation: string;
  delegated: boolean;
  resource_ref: JsonObject;
  project_owned: boolean;
  project_persistent: boolean;
  ledger_recorded: boolean;
  settled: boolean;
  terminal_state: string;
  terminal_reason: string;
  containment_disclosed: boolean;
  unread_disclosed: boolean;
  output_artifact: string;
  output_complete: boolean;
  output_sha: string;
  output_consumed: boolean;
  patch_captured: boolean;
  patch_disposed: string;
  patch_apply_pending: boolean;
  patch_apply_key: string;
  superseded_by: string;
}

/** Folds the run rows, then adds how each run ended: that holds wherever in the log it was said. */
export function foldRuns(rows: readonly JsonObject[]): Map<string, Run> {
  const runs = new Map<string, Run>();
  for (const row of rows) {
    const runId = text(row, 'run_id');
    const type = text(row, 'type');
    const run = runs.get(runId);
    if (runId !== '' && type === 'delegate_run_started') start(runs, newRun(runId, row), row);
    else if (run !== undefined) EFFECTS[type]?.(run, row, runs);
  }
  for (const row of rows) {
    const run = runs.get(text(row, 'run_id'));
    const isRecorded = ['delegate_run_settled', 'delegate_run_ledger_recorded'].includes(text(row, 'type'));
    if (run !== undefined && isRecorded) run.ledger_recorded = true;
  }
  for (const [runId, verdict] of verdictsOf(rows)) {
    const run = runs.get(runId);
    if (run !== undefined) settle(run, verdict);
  }
  return runs;
}

function settle(run: Run, verdict: Verdict): void {
  run.settled = true;
  run.terminal_state = verdict.state;
  run.terminal_reason = verdict.isAbsent ? '' : text(verdict.row, 'outcome_reason');
}

type Effect = (run: Run, row: JsonObject, runs: ReadonlyMap<string, Run>) => void;

const EFFECTS: Readonly<Record<string, Effect>> = {
  delegate_run_unconfined: (run) => {
    run.containment_disclosed = true;
  },
  delegate_run_settled_unread: (run) => {
    run.unread_disclosed = true;
  },
  delegate_run_project_retired: (run, row, runs) => {
    run.project_owned = false;
    const projectId = text(row, 'project_id') || run.project_id;
    for (const sharer of runs.values()) {
      if (projectId !== '' && sharer.project_id === projectId) sharer.project_owned = false;
    }
  },
  delegate_run_output_spilled: (run, row) => {
    const artifact = text(row, 'artifact');
    const sha = text(row, 'sha256');
    if (!isTruthy(own(row, 'staged')) || artifact === '') return;
    run.output_artifact = artifact;
    run.output_complete = own(row, 'full_content') === true;
    if (run.output_sha !== '' && sha !== '' && run.output_sha !== sha) run.output_consumed = false;
    run.output_sha = sha;
  },
  delegate_run_output_consumed: (run, row) => {
    const sha = text(row, 'sha256');
    if (sha === '' || run.output_sha === '' || sha === run.output_sha) run.output_consumed = true;
  },
  delegate_run_patch_captured: (run) => {
    run.patch_captured = true;
  },
  delegate_run_patch_apply_started: (run, row) => {
    run.patch_apply_pending = true;
    run.patch_apply_key = text(row, 'apply_idempotency_key');
  },
  delegate_run_patch_apply_resolved: (run) => {
    run.patch_apply_pending = false;
  },
  delegate_run_patch_disposed: (run, row) => {
    const disposition = text(row, 'disposition');
    if (disposition === '') return;
    run.patch_disposed = disposition;
    run.patch_apply_pending = false;
  },
};

function newRun(runId: string, row: JsonObject): Run {
  const texts = [...LAST_WINS, ...FIRST_WINS].map((key) => [key, text(row, key) || (DEFAULTS[key] ?? '')]);
  const reference = own(row, 'resource_ref');
  return {
    ...(Object.fromEntries(texts) as Record<
      (typeof LAST_WINS)[number] | (typeof FIRST_WINS)[number],
      string
    >),
    run_id: runId,
    access: text(row, 'access'),
    mode: text(row, 'mode'),
    isolation: text(row, 'isolation'),
    delegated: isTruthy(own(row, 'delegated')),
    resource_ref: isObject(reference) ? reference : {},
    project_owned: isTruthy(own(row, 'project_owned')),
    project_persistent: isTruthy(own(row, 'project_persistent')),
    ledger_recorded: false,
    settled: false,
    terminal_state: '',
    terminal_reason: '',
    containment_disclosed: false,
    unread_disclosed: false,
    output_artifact: '',
    output_complete: false,
    output_sha: '',
    output_consumed: false,
    patch_captured: false,
    patch_disposed: '',
    patch_apply_pending: false,
    patch_apply_key: '',
    superseded_by: '',
  };
}

function start(runs: Map<string, Run>, next: Run, row: JsonObject): void {
  const run = runs.get(next.run_id);
  if (run === undefined) runs.set(next.run_id, next);
  else startAgain(run, next);
  const predecessor = runs.get(text(row, 'continuation_of'));
  if (text(row, 'capture_id') === '' || predecessor === undefined || predecessor.run_id === next.run_id)
    return;
  const isSameSnapshot =
    predecessor.snapshot_id !== '' && predecessor.snapshot_id === text(row, 'snapshot_id');
  if (!isSameSnapshot || !['', 'superseded'].includes(predecessor.patch_disposed)) return;
  predecessor.patch_disposed = 'superseded';
  predecessor.superseded_by = next.run_id;
}

/** A second STARTED row of a known run. What the run did meanwhile stays as it is. */
function startAgain(run: Run, next: Run): void {
  for (const key of LAST_WINS) run[key] = next[key];
  for (const key of FIRST_WINS) run[key] = run[key] || next[key];
  run.project_owned = run.project_owned && next.project_owned;
  run.project_persistent = run.project_persistent || next.project_persistent;
  if (run.access !== '') return;
  run.access = next.access;
  run.mode = next.mode;
  run.isolation = next.isolation;
  run.delegated = next.delegated;
  if (!isTruthy(run.resource_ref)) run.resource_ref = next.resource_ref;
}
