import type { JsonObject, JsonValue } from './json.ts';
import { compareCodePoints, isTruthy, textOf } from './json.ts';
import type { RecordedEvent } from './recorded-event.ts';
import type { RunRecord } from './run-record.ts';
import { isReviewOwned, isReviewSource } from './run-record.ts';

/** A text that a row disclosed, with the place where it stood first. */
type Disclosed = readonly [seq: number, value: string];

/**
 * What the rows of one task say of one run. Keyed by the row's own `task_id`, not by the run's owner:
 * evidence is counted where it was written (docs/contracts/custody.md, 4.4).
 */
export interface RunEvidence {
  readonly task_id: string;
  readonly run_id: string;
  readonly started: boolean;
  readonly settled: boolean;
  /** True once a settle, not merely an absence, was seen; the first one decides. */
  readonly has_verdict: boolean;
  readonly state: string;
  /** US dollars; null when the first verdict did not disclose its spend. */
  readonly cost_usd: number | null;
  readonly cost_estimated: boolean;
  /** True if one of these rows came from a review panel. */
  readonly review_owned: boolean;
  readonly role: 'attempt' | 'delegate';
  readonly models: readonly Disclosed[];
  readonly access_profiles: readonly Disclosed[];
}

/** Task-wide facts that belong to no run. */
export interface TaskFacts {
  readonly task_id: string;
  /** `seq` of the newest event that could change the task's audit or evidence. */
  readonly last_seq: number;
  readonly nudge_recorded: boolean;
  /** A start was requested, blocked, or failed by configuration. */
  readonly start_attempted: boolean;
}

/** Counts, cost and substrate of a task, derived from the log. The live part of a terminal row. */
export interface ExecutionEvidence {
  readonly delegated_runs_started: number;
  readonly delegated_runs_settled: number;
  readonly delegated_runs_succeeded: number;
  readonly delegated_runs_failed: number;
  readonly delegated_runs_source_unresolved: number;
  readonly delegated_run_failure_states: readonly string[];
  /** US dollars, 6 decimals; null unless every settled run disclosed its spend. */
  readonly subscription_cost_usd: number | null;
  readonly subscription_cost_estimated: boolean;
  readonly harness_models: readonly string[];
  readonly applied_access_profiles: readonly string[];
  readonly evidence_read_failed: boolean;
  readonly nanny_nudge_recorded: boolean;
  readonly delegate_start_attempted: boolean;
}

/** How a task's work was really done. */
export type Substrate = 'harness_used' | 'harness_attempted' | 'native_only';

const MAX_ACCESS_PROFILES = 8;
const MAX_ACCESS_PROFILE_LENGTH = 32;

const NOTHING_DISCLOSED: readonly Disclosed[] = [];

/** Nothing known of the run by this task's rows. */
export function emptyEvidence(taskId: string, runId: string): RunEvidence {
  return {
    task_id: taskId,
    run_id: runId,
    started: false,
    settled: false,
    has_verdict: false,
    state: '',
    cost_usd: null,
    cost_estimated: false,
    review_owned: false,
    role: 'delegate',
    models: NOTHING_DISCLOSED,
    access_profiles: NOTHING_DISCLOSED,
  };
}

/** Nothing known of the task. */
export function emptyTaskFacts(taskId: string): TaskFacts {
  return { task_id: taskId, last_seq: 0, nudge_recorded: false, start_attempted: false };
}

/** Folds a start, a settle or an absence; other events carry no evidence and return the same object. */
export function foldEvidence(evidence: RunEvidence, event: RecordedEvent): RunEvidence {
  switch (event.type) {
    case 'run.started':
      return {
        ...evidence,
        started: true,
        role: event['role'] === 'attempt' ? 'attempt' : 'delegate',
        review_owned: evidence.review_owned || isReviewSource(event['source']),
      };
    case 'run.settled':
      return foldVerdict(evidence, event);
    case 'run.closed_absent':
      return {
        ...evidence,
        settled: true,
        review_owned: evidence.review_owned || isReviewSource(event['source']),
      };
    default:
      return evidence;
  }
}

function foldVerdict(evidence: RunEvidence, event: RecordedEvent): RunEvidence {
  // Field by field: to spread a second object over the first makes a verdict dearer by a third.
  const models = disclose(evidence.models, event.seq, textOf(event, 'model'));
  const access_profiles = disclose(evidence.access_profiles, event.seq, textOf(event, 'access_profile'));
  const review_owned = evidence.review_owned || isReviewSource(event['source']);
  const state = textOf(event, 'state');
  // The first verdict decides; one without a state decides only until another has one.
  if (evidence.has_verdict && (evidence.state !== '' || state === ''))
    return { ...evidence, models, access_profiles, review_owned };
  return {
    ...evidence,
    models,
    access_profiles,
    review_owned,
    settled: true,
    has_verdict: true,
    state,
    cost_usd: isTruthy(event['spend_disclosed']) ? costOf(event['cost_usd']) : null,
    cost_estimated: isTruthy(event['spend_estimated']),
  };
}

function disclose(known: readonly Disclosed[], seq: number, value: string): readonly Disclosed[] {
  if (value === '' || known.some(([, seen]) => seen === value)) return known;
  return [...known, [seq, value]];
}

/** A number, or a text that spells one; everything else is no cost. */
function costOf(value: JsonValue | undefined): number | null {
  if (typeof value === 'number') return Number.isFinite(value) ? value : null;
  if (typeof value !== 'string' || !/^\s*[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?\s*$/.test(value)) return null;
  const spelled = Number(value);
  return Number.isFinite(spelled) ? spelled : null;
}

/** The flags of a task that an event raises; the same object when it raises none. `last_seq` is the caller's. */
export function foldTaskFacts(facts: TaskFacts, event: RecordedEvent): TaskFacts {
  switch (event.type) {
    case 'run.start_requested':
      return facts.start_attempted || isReviewSource(event['source'])
        ? facts
        : { ...facts, start_attempted: true };
    case 'run.start_blocked':
    case 'run.startup_fault':
      return facts.start_attempted ? facts : { ...facts, start_attempted: true };
    case 'run.nudge_injected':
      return facts.nudge_recorded ? facts : { ...facts, nudge_recorded: true };
    default:
      return facts;
  }
}

/** The runs of a task as its rows tell them, the ledger's records of those runs, and the task's flags. */
export interface EvidenceSource {
  readonly evidence: readonly RunEvidence[];
  readonly runs: ReadonlyMap<string, RunRecord>;
  readonly facts: TaskFacts;
  /** False when the log exists but can't be read. */
  readonly readable: boolean;
}

/** The live evidence of a task (docs/contracts/custody.md, 4.4). Counts speak of delegated runs only. */
export function executionEvidence(source: EvidenceSource): ExecutionEvidence {
  const counted = source.evidence.filter(
    (item) => (item.started || item.settled) && isCounted(item, source.runs),
  );
  const settled = counted.filter((item) => item.settled);
  const failed = settled.filter((item) => item.state !== 'succeeded');
  const cost = totalCost(settled);
  return {
    delegated_runs_started: counted.length,
    delegated_runs_settled: settled.length,
    delegated_runs_succeeded: settled.length - failed.length,
    delegated_runs_failed: failed.length,
    delegated_runs_source_unresolved: 0,
    delegated_run_failure_states: distinct(
      failed.map((item) => (item.has_verdict ? item.state : 'closed_absent')),
    ).sort(compareCodePoints),
    subscription_cost_usd: cost,
    subscription_cost_estimated: cost !== null && settled.some((item) => item.cost_estimated),
    harness_models: inLogOrder(counted.flatMap((item) => item.models)),
    applied_access_profiles: inLogOrder(counted.flatMap((item) => item.access_profiles))
      .map((profile) => [...profile].slice(0, MAX_ACCESS_PROFILE_LENGTH).join(''))
      .filter((profile, index, all) => all.indexOf(profile) === index)
      .slice(0, MAX_ACCESS_PROFILES),
    evidence_read_failed: !source.readable,
    nanny_nudge_recorded: source.facts.nudge_recorded,
    delegate_start_attempted: counted.length > 0 || source.facts.start_attempted,
  };
}

/** A run counts unless it belongs to a review panel or holds the task itself. */
function isCounted(item: RunEvidence, runs: ReadonlyMap<string, RunRecord>): boolean {
  const record = runs.get(item.run_id);
  // The start tells whose run it is; only while none is known do the rows speak for themselves.
  if (record?.started === true) return !isReviewOwned(record) && record.role === 'delegate';
  return !item.review_owned && item.role === 'delegate';
}

function totalCost(settled: readonly RunEvidence[]): number | null {
  if (settled.length === 0) return null;
  let total = 0;
  for (const item of settled) {
    if (item.cost_usd === null) return null;
    total += item.cost_usd;
  }
  return Number.isFinite(total) ? roundHalfEven(total) : null;
}

/** Rounds to 6 decimals, an exact tie to the even digit, as Python's `round` does. */
export function roundHalfEven(value: number): number {
  const exact = Math.abs(value).toFixed(60);
  const isTie = /^\d+\.\d{6}50*$/.test(exact);
  if (!isTie) return Number(value.toFixed(6));
  const truncated = exact.slice(0, exact.indexOf('.') + 7);
  const isEven = Number(truncated.at(-1)) % 2 === 0;
  const magnitude = isEven ? Number(truncated) : Number((Number(truncated) + 1e-6).toFixed(6));
  return value < 0 ? -magnitude : magnitude;
}

function inLogOrder(items: readonly Disclosed[]): readonly string[] {
  return distinct([...items].sort(([a], [b]) => a - b).map(([, value]) => value));
}

function distinct(values: readonly string[]): string[] {
  return [...new Set(values.filter((value) => value !== ''))];
}

/** How the work was done, judged by the evidence. */
export function substrateOf(evidence: ExecutionEvidence): Substrate {
  if (evidence.delegated_runs_succeeded > 0) return 'harness_used';
  return evidence.delegated_runs_started > 0 ? 'harness_attempted' : 'native_only';
}

/** The five counters of a row, frozen at its terminal write; also the keys compared for staleness. */
export const COUNTERS = [
  'delegated_runs_started',
  'delegated_runs_settled',
  'delegated_runs_succeeded',
  'delegated_runs_failed',
  'delegated_runs_source_unresolved',
] as const satisfies readonly (keyof ExecutionEvidence)[];

/** The evidence as a JSON value for a row. */
export function toEvidenceJson(evidence: ExecutionEvidence): JsonObject {
  return { ...evidence };
}
