import type { JsonObject, NewEvent } from '@custody/ledger';
import fc from 'fast-check';

/** A world small enough that events meet: the same runs, tasks and projects again and again. */
const taskId = fc.constantFrom('t-1', 't-2', 't-3', 'T-1');
const runId = fc.constantFrom('run-1', 'run-2', 'run-3', 'run-4', 'run-5');
const invocationId = fc.constantFrom('inv-1', 'inv-2', 'inv-3');
const projectId = fc.constantFrom('', 'p-1', 'p-2');
const sha = fc.constantFrom('', 'sha-x', 'sha-y');
const at = fc
  .integer({ min: 0, max: 20 })
  .map((second) => `2026-03-01T00:00:${String(second).padStart(2, '0')}.000Z`);

/** Some of the fields, each there or not. */
function some(fields: Readonly<Record<string, fc.Arbitrary<JsonObject[string]>>>): fc.Arbitrary<JsonObject> {
  return fc.record(fields, { requiredKeys: [] }) as fc.Arbitrary<JsonObject>;
}

function ofType(
  type: string,
  required: Readonly<Record<string, fc.Arbitrary<string>>>,
  optional = fc.constant<JsonObject>({}),
): fc.Arbitrary<NewEvent> {
  return fc
    .tuple(fc.record(required), optional)
    .map(([ids, fields]) => ({ ...fields, ...ids, type }) as NewEvent);
}

const start = some({
  role: fc.constantFrom('attempt', 'delegate', 'delegate'),
  invocation_id: invocationId,
  continuation_of: runId,
  capture_id: fc.constantFrom('', 'c-1'),
  snapshot_id: fc.constantFrom('', 's-1', 's-2'),
  project_id: projectId,
  project_owned: fc.boolean(),
  project_persistent: fc.boolean(),
  source: fc.constantFrom('delegated_subagent', 'review_substrate_panel'),
  access: fc.constantFrom('', 'readonly', 'workspace_write'),
  mode: fc.constantFrom('a', 'b'),
  delegated: fc.boolean(),
  resource_ref: fc.constantFrom<JsonObject>({}, { workspace_kind: 'directory', strategy: 'copy' }),
  effort: fc.constantFrom(null, '', 'low'),
  model: fc.constantFrom('m-1', 'm-2'),
  shape: fc.record({ max_seconds: fc.constantFrom(0, 90, 120) }),
});

const settle = some({
  task_id: taskId,
  cost_usd: fc.constantFrom(null, 0, 1.25, 0.1, 0.2),
  spend_disclosed: fc.boolean(),
  spend_estimated: fc.boolean(),
  model: fc.constantFrom('m-1', 'm-2'),
  access_profile: fc.constantFrom('full', 'lean'),
  outcome_reason: fc.constantFrom('', 'done'),
});

const state = fc.constantFrom('succeeded', 'failed', 'cancelled', 'interrupted');
const ofRun = some({ task_id: taskId });

const kinds = fc.oneof(
  { weight: 5, arbitrary: ofType('run.started', { run_id: runId, task_id: taskId }, start) },
  { weight: 4, arbitrary: ofType('run.settled', { run_id: runId, state }, settle) },
  { weight: 2, arbitrary: ofType('run.closed_absent', { run_id: runId }, ofRun) },
  { weight: 1, arbitrary: ofType('run.ledger_recorded', { run_id: runId }, ofRun) },
  {
    weight: 3,
    arbitrary: ofType(
      'run.start_requested',
      { invocation_id: invocationId, task_id: taskId },
      some({
        request: fc.constant({ prompt: 'p' }),
        source: fc.constant('review_substrate_x'),
        project_id: projectId,
      }),
    ),
  },
  {
    weight: 2,
    arbitrary: fc
      .tuple(ofType('run.start_failed', { invocation_id: invocationId }, ofRun), fc.boolean())
      .map(([failed, definite]) => ({ ...failed, definite })),
  },
  { weight: 1, arbitrary: ofType('run.start_blocked', { task_id: taskId }) },
  { weight: 1, arbitrary: ofType('run.nudge_injected', { task_id: taskId }) },
  {
    weight: 2,
    arbitrary: ofType(
      'output.spilled',
      { run_id: runId },
      some({
        staged: fc.boolean(),
        artifact: fc.constantFrom('', 'out.txt'),
        sha256: sha,
        full_content: fc.boolean(),
      }),
    ),
  },
  {
    weight: 2,
    arbitrary: ofType('output.consumed', { run_id: runId }, some({ sha256: sha, reader_task_id: taskId })),
  },
  { weight: 1, arbitrary: ofType('output.left_unread', { run_id: runId }, ofRun) },
  { weight: 1, arbitrary: ofType('patch.captured', { run_id: runId }, ofRun) },
  {
    weight: 1,
    arbitrary: ofType('patch.apply_started', { run_id: runId }, some({ apply_key: fc.constant('k') })),
  },
  { weight: 1, arbitrary: ofType('patch.apply_resolved', { run_id: runId }, ofRun) },
  {
    weight: 2,
    arbitrary: ofType(
      'patch.disposed',
      { run_id: runId, disposition: fc.constantFrom('applied', 'rejected', 'superseded') },
      ofRun,
    ),
  },
  {
    weight: 2,
    arbitrary: ofType('project.retired', { run_id: runId }, some({ project_id: projectId, task_id: taskId })),
  },
  { weight: 1, arbitrary: ofType('project.retire_failed', { run_id: runId }, ofRun) },
  {
    weight: 2,
    arbitrary: ofType(
      'containment.fault',
      { run_id: runId },
      some({ task_id: taskId, reason: fc.constant('r') }),
    ),
  },
  { weight: 1, arbitrary: ofType('containment.resolved', { run_id: runId }, ofRun) },
  { weight: 1, arbitrary: ofType('containment.unconfined', { run_id: runId }, ofRun) },
  { weight: 1, arbitrary: ofType('task.recorded', { task_id: taskId, status: fc.constant('running') }) },
  { weight: 1, arbitrary: ofType('x.note', { run_id: runId, task_id: taskId }) },
);

/** An event that the edge accepts, of any kind, in a small world. Its ids repeat now and then. */
export const anyEvent: fc.Arbitrary<NewEvent> = fc
  .tuple(kinds, at, fc.option(fc.constantFrom('e-1', 'e-2', 'e-3'), { freq: 6 }), fc.boolean())
  .map(
    ([kind, time, id, hasTime]) =>
      ({ ...kind, ...(hasTime ? { at: time } : {}), ...(id === null ? {} : { id }) }) as NewEvent,
  );

/** Events with increasing times and without ids of their own, as one careful writer appends them. */
export const anyHistory: fc.Arbitrary<readonly NewEvent[]> = fc.array(kinds, { minLength: 1, maxLength: 40 });
