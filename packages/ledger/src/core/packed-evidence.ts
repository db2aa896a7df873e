import type { JsonObject, JsonValue } from './json.ts';
import type { RunEvidence, TaskFacts } from './run-evidence.ts';
import { emptyEvidence, emptyTaskFacts } from './run-evidence.ts';

/** Evidence without what says nothing, and without the ids that stand beside it in its row. */
export function packEvidence(evidence: RunEvidence): JsonObject {
  const kept: Record<string, JsonValue> = {};
  if (evidence.started) kept['started'] = true;
  if (evidence.settled) kept['settled'] = true;
  if (evidence.has_verdict) kept['has_verdict'] = true;
  if (evidence.state !== '') kept['state'] = evidence.state;
  if (evidence.cost_usd !== null) kept['cost_usd'] = evidence.cost_usd;
  if (evidence.cost_estimated) kept['cost_estimated'] = true;
  if (evidence.review_owned) kept['review_owned'] = true;
  if (evidence.role !== 'delegate') kept['role'] = evidence.role;
  if (evidence.models.length > 0) kept['models'] = evidence.models;
  if (evidence.access_profiles.length > 0) kept['access_profiles'] = evidence.access_profiles;
  return kept;
}

/** The evidence that was packed, or that was written whole; the inverse of {@link packEvidence}. */
export function unpackEvidence(
  packed: JsonObject,
  { task_id, run_id }: Pick<RunEvidence, 'task_id' | 'run_id'>,
): RunEvidence {
  return { ...emptyEvidence(task_id, run_id), ...packed };
}

/** Facts of a task without what says nothing, and without what stands beside them in their row. */
export function packFacts(facts: TaskFacts): JsonObject {
  const kept: Record<string, JsonValue> = {};
  if (facts.nudge_recorded) kept['nudge_recorded'] = true;
  if (facts.start_attempted) kept['start_attempted'] = true;
  return kept;
}

/** The facts that were packed, or that were written whole; the inverse of {@link packFacts}. */
export function unpackFacts(
  packed: JsonObject,
  { task_id, last_seq }: Pick<TaskFacts, 'task_id' | 'last_seq'>,
): TaskFacts {
  return { ...emptyTaskFacts(task_id), last_seq, ...packed };
}
