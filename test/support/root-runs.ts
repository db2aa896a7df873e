import type { Json, JsonFields } from './root-json.ts';
import type { RootPlan, RunFacts } from './root-plan.ts';
import { emit, isTrap, layTrap, SPAN_MS } from './root-plan.ts';
import { tellEnd } from './root-run-end.ts';
import { tellFaults, tellOutput, tellPatch, tellProject } from './root-run-leavings.ts';

/** Ids that a reader may trip over: by sorting, by objects as maps, by case, by length. */
const ODD_RUN_IDS = [
  'run-\uff5e',
  'run-\u{1f600}',
  'run-\ufffd',
  'run-\u{10348}',
  'constructor',
  '__proto__',
  'toString',
  'hasOwnProperty',
  'RUN-A',
  'run-a',
  'run-é',
  'run-e\u0301',
  'run 7 "quoted"',
  '7',
  'run-',
  `run-${'x'.repeat(200)}`,
  'patch:run-a',
  'run-\u2028',
] as const;
const STARTS = ['run-10', 'run-9', 'run-1'] as const;

/** Tells the life of every run, and of the starts that never became one. */
export function planRuns(plan: RootPlan): void {
  const known: RunFacts[] = [];
  const special = plan.options.runs >= 60 ? [...ODD_RUN_IDS, ...STARTS] : [];
  for (let index = 0; index < plan.options.runs; index += 1) {
    const oddId = special[index];
    const runId = oddId ?? `run-${plan.random.hex(12)}`;
    // The odd ids share a task, so that their order shows.
    const taskId = (oddId === undefined ? someTask(plan) : plan.taskIds[1]) ?? plan.taskIds[0];
    const facts = runFacts(plan, { runId, taskId }, known);
    known.push(facts);
    if (oddId === undefined) tellRun(plan, facts);
    else tellOddRun(plan, facts);
  }
  for (let index = 0; index < plan.options.tasks / 8; index += 1) tellTaskFact(plan);
}

/** A few tasks have many runs, and every fourth has one, or few, or none. */
function someTask(plan: RootPlan): string {
  const { random, taskIds } = plan;
  if (random.chance(0.15)) return taskIds[random.int(0, 2)] ?? taskIds[0];
  const index = random.int(0, taskIds.length - 1);
  return (random.chance(0.8) && index % 4 === 3 ? taskIds[index - 1] : taskIds[index]) ?? taskIds[0];
}

function quietTask(plan: RootPlan): string {
  return plan.taskIds[plan.random.int(0, Math.floor(plan.taskIds.length / 4)) * 4 + 3] ?? plan.taskIds[0];
}

function tellRun(plan: RootPlan, facts: RunFacts): void {
  const isRun = !isTrap(plan, 'invocation that never became a run', 0.08);
  tellInvocation(plan, facts, isRun ? 0.12 : 0.5);
  if (!isRun) {
    if (isTrap(plan, 'start that names no run', 0.2)) tellNamelessStart(plan, facts);
    return;
  }
  if (!isTrap(plan, 'run without a start', 0.04)) tellStart(plan, facts);
  const endMs = tellEnd(plan, facts);
  tellOutput(plan, facts, endMs);
  tellPatch(plan, facts, endMs);
  tellProject(plan, facts, endMs);
  tellFaults(plan, facts, endMs);
}

/** A run of which the id is the trap: it has a receipt, for the rest it lives as the others do. */
function tellOddRun(plan: RootPlan, facts: RunFacts): void {
  layTrap(plan, 'odd run id');
  const start = { ...facts.start, source: undefined };
  const { runId, taskId, startMs } = facts;
  emit(plan, startMs, { type: 'delegate_run_started', ...start });
  emit(plan, startMs + 1, {
    type: 'delegate_run_settled',
    run_id: runId,
    task_id: taskId,
    state: 'succeeded',
  });
  tellRun(plan, { ...facts, source: undefined, start });
}

function tellInvocation(plan: RootPlan, facts: RunFacts, failureRate: number): void {
  const { random } = plan;
  if (facts.invocationId === '') return;
  const { runId, taskId, startMs, invocationId } = facts;
  const isLate = isTrap(plan, 'start requested after its start', 0.02);
  const atMs = isLate ? startMs + random.int(1, 500) : startMs - random.int(1, 4000);
  const about = {
    run_id: '',
    task_id: random.chance(0.01) ? undefined : taskId,
    invocation_id: invocationId,
  };
  const project = {
    project_id: facts.projectId || undefined,
    project_owned: facts.projectId ? random.chance(0.8) : undefined,
  };
  const request: JsonFields = {
    ...about,
    idempotency_key: random.hex(16),
    surface: 'agent',
    route: 'route-b',
    ...project,
  };
  const row = {
    ...request,
    snapshot_id: facts.snapshotId || undefined,
    source: facts.source,
    ...requestBody(plan),
  };
  emit(plan, atMs, { type: 'delegate_run_start_requested', ...row });
  if (isTrap(plan, 'repeated start request', 0.1)) {
    const other = {
      ...row,
      task_id: random.chance(0.3) ? random.pick(plan.taskIds) : taskId,
      ...requestBody(plan),
    };
    emit(plan, atMs + random.int(0, 90_000), { type: 'delegate_run_start_requested', ...other });
  }
  if (!random.chance(failureRate)) return;
  const definite = random.pick<Json | undefined>([true, true, true, false, 'true', 1, undefined, null]);
  layTrap(plan, definite === true ? 'definite start failure' : 'start failure that is not definite');
  const failedMs = isTrap(plan, 'start failure before its request', 0.1)
    ? atMs - 50
    : atMs + random.int(1, 3000);
  const failure = {
    ...about,
    run_id: isTrap(plan, 'start failure that names a run', 0.1) ? runId : undefined,
    route: 'route-b',
    definite,
    reason: definite === true ? 'refused_422' : 'transport_error',
  };
  emit(plan, failedMs, { type: 'delegate_run_start_failed', ...failure });
}

function requestBody(plan: RootPlan): JsonFields {
  const request = { prompt: 'do the délégated work', access: 'workspace_write', workspace: { root: 'repo' } };
  const reference = { sha256: plan.random.hex(64), kind: 'json' };
  const kind = plan.random.pick([
    'inline',
    'inline',
    'reference',
    'reference',
    'both',
    'none',
    'null',
    'empty',
  ]);
  layTrap(plan, `start request with body: ${kind}`);
  if (kind === 'inline') return { request };
  if (kind === 'reference') return { request_ref: reference, prompt_chars: 120 };
  if (kind === 'both') return { request, request_ref: reference };
  if (kind === 'null') return { request: null, request_ref: null };
  return kind === 'empty' ? { request: null, request_ref: reference, project_persistent: false } : {};
}

function tellStart(plan: RootPlan, facts: RunFacts): void {
  const { random } = plan;
  const row: JsonFields = { type: 'delegate_run_started', ...facts.start };
  const isInTwo = row['continuation_of'] !== undefined && isTrap(plan, 'continuation told in two rows', 0.2);
  if (isInTwo) {
    const [first, second] = random.pick<readonly [JsonFields, JsonFields]>([
      [{ continuation_of: undefined }, { capture_id: undefined }],
      [{ continuation_of: undefined, capture_id: undefined }, { snapshot_id: undefined }],
      [{ capture_id: undefined }, { continuation_of: undefined }],
    ]);
    emit(plan, facts.startMs, { ...row, ...first });
    emit(plan, facts.startMs + 1, { ...row, ...second });
  } else {
    emit(plan, facts.startMs, row);
  }
  if (isTrap(plan, 'start repeated at once', 0.06)) emit(plan, facts.startMs, row);
  if (isTrap(plan, 'start repeated late', 0.06)) emit(plan, facts.startMs + random.int(1, SPAN_MS), row);
  while (isTrap(plan, 'second start with other fields', 0.12)) {
    emit(plan, facts.startMs + random.int(0, 7_200_000), { ...row, ...otherFields(plan) });
  }
  if (isTrap(plan, 'start that names no run', 0.02)) tellNamelessStart(plan, facts);
}

function tellNamelessStart(plan: RootPlan, facts: RunFacts): void {
  const runId = plan.random.pick<Json | undefined>(['', 42, null, undefined]);
  emit(plan, facts.startMs + 2, { type: 'delegate_run_started', ...facts.start, run_id: runId });
}

/** What a second STARTED row may say differently. */
function otherFields(plan: RootPlan): JsonFields {
  const { random } = plan;
  const changes: readonly JsonFields[] = [
    { model: random.pick(['model-z', '', null]), profile_id: undefined },
    { access: undefined, mode: undefined, isolation: undefined, delegated: undefined },
    { access: 'full', delegated: false, resource_ref: { workspace_kind: 'directory', strategy: 'copy' } },
    { resource_ref: {} },
    {
      project_owned: random.pick<Json | undefined>([false, true, undefined]),
      project_persistent: random.chance(0.5),
    },
    { project_id: random.pick<Json | undefined>([undefined, 'project-other', '']) },
    { source: random.pick<Json | undefined>([undefined, 'review_substrate', 'delegated_subagent']) },
    {
      snapshot_id: random.pick<Json | undefined>([undefined, 'snap-other', 'snap-late']),
      selected_subagent_id: 'actor-9',
    },
    { invocation_id: undefined, max_seconds: '120' },
    { task_id: random.pick<Json | undefined>([random.pick(plan.taskIds), undefined]) },
  ];
  const chosen = changes.filter(() => random.chance(0.25));
  return Object.fromEntries(chosen.flatMap((some) => Object.entries(some)));
}

function runFacts(
  plan: RootPlan,
  ids: { runId: string; taskId: string },
  known: readonly RunFacts[],
): RunFacts {
  const { random } = plan;
  const predecessor = known[random.int(0, known.length * 4)];
  const snapshotId = random.chance(0.35) ? `snap-${random.hex(8)}` : '';
  const projectId = random.chance(0.25) ? `project-${random.int(0, Math.ceil(plan.options.runs / 8))}` : '';
  const invocationId = random.chance(0.7) ? random.hex(32) : '';
  const source = someSource(plan);
  const common = {
    ...ids,
    source,
    projectId,
    invocationId,
    startMs: Math.floor(random.next() ** 2 * SPAN_MS * 0.9) + 5000,
  };
  const shape = {
    access: someAccess(plan),
    mode: 'agent',
    isolation: snapshotId ? 'snapshot' : 'none',
    delegated: random.chance(0.9),
  };
  const about = {
    run_id: ids.runId,
    task_id: ids.taskId,
    route: random.pick(['route-a', 'route-b', 'route-c']),
    model: someModel(plan),
  };
  const start = {
    ...about,
    ...(random.chance(0.93) ? shape : {}),
    ...optionalFields(plan),
    source,
    ...projectFields(plan, projectId),
  };
  const invocation = { invocation_id: invocationId || undefined };
  if (predecessor === undefined || predecessor.snapshotId === '') {
    return {
      ...common,
      snapshotId,
      start: { ...start, snapshot_id: snapshotId || undefined, ...invocation },
    };
  }
  layTrap(plan, 'continuation');
  const continuedMs = predecessor.startMs + random.int(0, 14_400_000);
  const next = continuationFields(plan, { runId: ids.runId, predecessor });
  return {
    ...common,
    startMs: continuedMs,
    snapshotId: predecessor.snapshotId,
    start: { ...start, ...next, ...invocation },
  };
}

/** The fields that continue a predecessor; in some of the cases one of them is wrong. */
function continuationFields(plan: RootPlan, about: { runId: string; predecessor: RunFacts }): JsonFields {
  const { random } = plan;
  const { predecessor } = about;
  const fields = {
    snapshot_id: predecessor.snapshotId,
    continuation_of: predecessor.runId,
    capture_id: random.hex(16),
    snapshot_task_id: predecessor.taskId,
  };
  if (!isTrap(plan, 'continuation that supersedes nothing', 0.3)) return fields;
  const wrong = [
    { capture_id: '' },
    { continuation_of: about.runId },
    { continuation_of: 'run-unknown' },
    { snapshot_id: 'snap-elsewhere' },
  ] as const;
  return { ...fields, ...random.pick<JsonFields>(wrong) };
}

function projectFields(plan: RootPlan, projectId: string): JsonFields {
  if (projectId === '') return plan.random.chance(0.03) ? { project_owned: true } : {};
  const owned = plan.random.pick<Json | undefined>([true, true, true, true, false, undefined]);
  return {
    project_id: projectId,
    project_owned: owned,
    project_persistent: plan.random.pick<Json | undefined>([true, false, undefined]),
  };
}

function optionalFields(plan: RootPlan): JsonFields {
  const { random } = plan;
  const directory = {
    workspace_kind: 'directory',
    strategy: random.pick(['copy', 'copy', 'inplace']),
    root: 'skills',
  };
  return {
    profile_id: random.pick<Json | undefined>(['', 'profile-1', 'profile-2', undefined, null]),
    selected_subagent_id: random.chance(0.4) ? `actor-${random.int(0, 8)}` : undefined,
    category: random.pick<Json | undefined>(['subagent', undefined, null, '']),
    baseline_sha: random.chance(0.4) ? random.hex(40) : undefined,
    max_seconds: random.pick<Json | undefined>([600, '900', 0, undefined]),
    resource_ref: random.chance(0.15) ? directory : undefined,
    parent_task_id: random.chance(0.2) ? random.pick(plan.taskIds) : undefined,
  };
}

function someSource(plan: RootPlan): Json | undefined {
  const source = plan.random.weighted<Json | undefined>([
    [40, 'delegated_subagent'],
    [25, undefined],
    [8, null],
    [4, ''],
    [5, 'review_substrate'],
    [5, 'review_substrate.acceptance'],
    [3, 'review_substrate_panel'],
    [3, 'review'],
    [2, 'Review_substrate'],
    [2, ' review_substrate'],
    [1, 7],
  ]);
  if (typeof source === 'string' && source.startsWith('review_substrate')) layTrap(plan, 'review-owned run');
  return source;
}

function someAccess(plan: RootPlan): Json {
  return plan.random.pick<Json>(['readonly', 'workspace_write', 'full', 'full', '']);
}

function someModel(plan: RootPlan): Json | undefined {
  return plan.random.pick<Json | undefined>([
    'model-a',
    'model-b',
    'model-c/large',
    'modèle-🙂',
    undefined,
    '',
    5,
  ]);
}

/** A row about a task as a whole. */
function tellTaskFact(plan: RootPlan): void {
  const { random } = plan;
  const type = random.pick([
    'delegate_run_nanny_nudge_injected',
    'delegate_run_start_blocked',
    'delegate_run_configured_startup_fault',
  ]);
  layTrap(plan, type);
  const about = {
    task_id: random.chance(0.5) ? quietTask(plan) : random.pick(plan.taskIds),
    reason: 'route_health',
    nanny_code: 'finalize',
  };
  emit(plan, random.int(0, SPAN_MS), {
    type,
    run_id: random.pick<Json | undefined>([undefined, undefined, '']),
    ...about,
  });
}
