import type { Fold } from './fold.ts';
import { isReviewOwned } from './fold.ts';
import type { JsonObject } from './json.ts';
import { byCodePoint, isTruthy, own, text } from './json.ts';
import type { Verdict } from './verdict.ts';
import { verdictsOf } from './verdict.ts';

export const COUNTERS = [
  'delegated_runs_started',
  'delegated_runs_settled',
  'delegated_runs_succeeded',
  'delegated_runs_failed',
  'delegated_runs_source_unresolved',
] as const;

/** What the log tells of a task's runs: counts, cost, models. */
export interface Evidence extends Record<(typeof COUNTERS)[number], number> {
  readonly delegated_run_failure_states: string[];
  readonly subscription_cost_usd: number | null;
  readonly subscription_cost_estimated: boolean;
  readonly harness_models: string[];
  readonly applied_access_profiles: string[];
  readonly evidence_read_failed: boolean;
  readonly nanny_nudge_recorded: boolean;
  readonly delegate_start_attempted: boolean;
}

const ATTEMPTS = [
  'delegate_run_start_requested',
  'delegate_run_start_blocked',
  'delegate_run_configured_startup_fault',
];
const NUMERAL = /^\s*[+-]?(\d+(\.\d*)?|\.\d+)(e[+-]?\d+)?\s*$/i;
const MAX_PROFILES = 8;
const MAX_PROFILE_LENGTH = 32;

/** The execution evidence of a task, from the rows that name it themselves; review-owned runs don't count. */
export function evidenceOf(fold: Fold, taskId: string): Evidence {
  const all = fold.rowsOfTask.get(taskId) ?? [];
  const panels = new Set(
    all.filter((row) => isEvidence(row) && isOfReview(fold, row)).map((row) => text(row, 'run_id')),
  );
  panels.delete('');
  const rows = all.filter((row) => !panels.has(text(row, 'run_id')) && !isOfReview(fold, row));
  const ofType = (type: string) => rows.filter((row) => text(row, 'type') === type);
  const verdicts = verdictsOf(rows);
  const started = new Set([
    ...ofType('delegate_run_started').map((row) => text(row, 'run_id')),
    ...verdicts.keys(),
  ]);
  started.delete('');
  const settles = ofType('delegate_run_settled').filter((row) => text(row, 'run_id') !== '');
  const ended = [...verdicts.values()];
  const lost = ended.filter(({ state }) => state !== 'succeeded');
  const states = lost.map(({ isAbsent, state }) => (isAbsent ? 'closed_absent' : state));
  const cost = costOf(ended);
  const profiles = settles.map((row) =>
    Array.from(text(row, 'access_profile')).slice(0, MAX_PROFILE_LENGTH).join(''),
  );
  return {
    delegated_runs_started: started.size,
    delegated_runs_settled: ended.length,
    delegated_runs_succeeded: ended.length - lost.length,
    delegated_runs_failed: lost.length,
    delegated_runs_source_unresolved: 0,
    delegated_run_failure_states: distinct(states).sort(byCodePoint),
    subscription_cost_usd: cost,
    subscription_cost_estimated:
      cost !== null && ended.some(({ row }) => isTruthy(own(row, 'spend_estimated'))),
    harness_models: distinct(settles.map((row) => text(row, 'model'))),
    applied_access_profiles: distinct(profiles).slice(0, MAX_PROFILES),
    evidence_read_failed: !fold.isReadable,
    nanny_nudge_recorded: all.some((row) => text(row, 'type') === 'delegate_run_nanny_nudge_injected'),
    delegate_start_attempted: started.size > 0 || rows.some((row) => ATTEMPTS.includes(text(row, 'type'))),
  };
}

/** One word for how a task was worked on. */
export function substrateOf(evidence: Evidence): 'harness_used' | 'harness_attempted' | 'native_only' {
  if (evidence.delegated_runs_succeeded > 0) return 'harness_used';
  return evidence.delegated_runs_started > 0 ? 'harness_attempted' : 'native_only';
}

/** A run that nobody saw start is a panel's as soon as one row of its start or end says so. */
function isEvidence(row: JsonObject): boolean {
  return /^delegate_run_(started|settled|closed_absent)$/.test(text(row, 'type'));
}

function isOfReview(fold: Fold, row: JsonObject): boolean {
  return isReviewOwned(fold.runs.get(text(row, 'run_id')) ?? { source: text(row, 'source') });
}

/** The sum of what the ended runs cost; null while one of them has not disclosed it. */
function costOf(ended: readonly Verdict[]): number | null {
  let sum = 0;
  for (const { row, isAbsent } of ended) {
    const cost = toCost(own(row, 'cost_usd'));
    if (isAbsent || cost === null || !isTruthy(own(row, 'spend_disclosed'))) return null;
    sum += cost;
  }
  return ended.length === 0 ? null : Number(sum.toFixed(6));
}

function toCost(value: unknown): number | null {
  const cost = typeof value === 'string' && NUMERAL.test(value) ? Number(value) : value;
  return typeof cost === 'number' && Number.isFinite(cost) ? cost : null;
}

function distinct(values: readonly string[]): string[] {
  return [...new Set(values)].filter((value) => value !== '');
}
