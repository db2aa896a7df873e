import type { Json, JsonFields } from './root-json.ts';
import type { RootPlan, RunFacts } from './root-plan.ts';
import { emit, isTrap, layTrap, SPAN_MS, timestamp } from './root-plan.ts';

/** Output: spilled, spilled again with other content, consumed with a right or a wrong sha. */
export function tellOutput(plan: RootPlan, facts: RunFacts, endMs: number | null): void {
  const { random } = plan;
  if (!random.chance(0.4)) return;
  const about = { run_id: facts.runId, task_id: facts.taskId };
  let atMs = facts.startMs + random.int(500, 3_600_000);
  let sha = random.hex(64);
  emit(plan, atMs, { ...about, ...spill(plan, sha) });
  for (let round = random.int(0, 3); round > 0; round -= 1) {
    atMs += random.int(1, 100_000);
    const isSpilledAgain = isTrap(plan, 'output spilled again', 0.3);
    if (isSpilledAgain && random.chance(0.5)) sha = random.hex(64);
    emit(plan, atMs, { ...about, ...(isSpilledAgain ? spill(plan, sha) : consumption(plan, sha)) });
  }
  if (endMs !== null && random.chance(0.1))
    emit(plan, endMs + 5, { ...about, type: 'delegate_run_settled_unread' });
}

function spill({ random }: RootPlan, sha: string): JsonFields {
  return {
    type: 'delegate_run_output_spilled',
    staged: random.pick<Json>([true, true, true, true, 1, false, '']),
    artifact: random.chance(0.95) ? `artifacts/${random.hex(6)}.md` : '',
    sha256: random.chance(0.95) ? sha : '',
    full_content: random.pick<Json | undefined>([true, true, 1, false, undefined]),
  };
}

function consumption(plan: RootPlan, sha: string): JsonFields {
  const isWrong = isTrap(plan, 'output consumed with a wrong sha', 0.2);
  const right = plan.random.chance(0.1) ? '' : sha;
  return { type: 'delegate_run_output_consumed', sha256: isWrong ? plan.random.hex(64) : right };
}

/** Patches: captured, applied, disposed; also of runs that never had a workspace, and before the start. */
export function tellPatch(plan: RootPlan, facts: RunFacts, endMs: number | null): void {
  const { random } = plan;
  if (facts.snapshotId === '' && !random.chance(0.05)) return;
  const about = { run_id: facts.runId, task_id: facts.taskId };
  let atMs = endMs ?? facts.startMs + 1000;
  const step = (type: string, fields: Readonly<Record<string, Json>>) => {
    atMs += random.int(1, 60_000);
    emit(plan, atMs, { type: `delegate_run_patch_${type}`, ...about, ...fields });
  };
  if (random.chance(0.6)) step('captured', { snapshot_id: facts.snapshotId });
  if (random.chance(0.4)) step('apply_started', { apply_idempotency_key: random.hex(12) });
  if (random.chance(0.2)) step('apply_resolved', { reason: 'drift' });
  const isEmptyLater = random.chance(0.5);
  if (!isEmptyLater && isTrap(plan, 'patch disposed by an empty word', 0.2))
    step('disposed', { disposition: random.pick<Json>(['', null, 1]) });
  if (isTrap(plan, 'patch disposed', 0.5))
    step('disposed', { disposition: random.pick(['applied', 'rejected', 'superseded', 'shelved']) });
  if (isEmptyLater && isTrap(plan, 'patch disposed by an empty word', 0.2))
    step('disposed', { disposition: '' });
  if (isTrap(plan, 'patch disposed before the start', 0.03)) {
    emit(plan, facts.startMs - 10, { type: 'delegate_run_patch_disposed', ...about, disposition: 'applied' });
  }
}

/** Registrations: retired by any sharer, retired by an unknown run, taken again afterwards. */
export function tellProject(plan: RootPlan, facts: RunFacts, endMs: number | null): void {
  const { random } = plan;
  if (facts.projectId === '') return;
  const atMs = (endMs ?? facts.startMs) + random.int(-500, 3_600_000);
  const about = { run_id: facts.runId, task_id: facts.taskId, project_id: facts.projectId };
  const failure = { reason: 'busy', code: 'project_busy', status: 409 };
  if (random.chance(0.1))
    emit(plan, atMs, { type: 'delegate_run_project_retire_failed', ...about, ...failure });
  if (!isTrap(plan, 'project retired', 0.4)) return;
  const isUnnamed = isTrap(plan, 'project retired without its name', 0.2);
  const isUnknown = isTrap(plan, 'project retired by an unknown run', 0.1);
  const kept = random.chance(0.2) ? { project_kept: true } : {};
  const row = {
    ...about,
    run_id: isUnknown ? 'run-unknown' : facts.runId,
    project_id: isUnnamed ? random.pick(['', null]) : facts.projectId,
  };
  emit(plan, atMs + 1, { type: 'delegate_run_project_retired', ...row, ...kept });
  if (isTrap(plan, 'project retirement repeated late', 0.1)) {
    emit(plan, atMs + random.int(1, SPAN_MS), { type: 'delegate_run_project_retired', ...row });
  }
}

/** Containment and other rows that change no record; faults stand in the compact file, in the log, or in both. */
export function tellFaults(plan: RootPlan, facts: RunFacts, endMs: number | null): void {
  const { random } = plan;
  const about = { run_id: facts.runId, task_id: facts.taskId };
  const atMs = facts.startMs + random.int(1, 60_000);
  if (random.chance(0.05))
    emit(plan, atMs, { type: 'delegate_run_unconfined', ...about, reason: 'no_evidence' });
  if (random.chance(0.05))
    emit(plan, atMs + 3, { type: 'delegate_run_cancel_outcome', ...about, outcome: 'confirmed' });
  if (endMs !== null && random.chance(0.25)) {
    emit(plan, endMs + 7, {
      type: 'delegate_run_reconciled',
      ...about,
      action: 'settle_attempted',
      settled: true,
    });
  }
  if (!random.chance(0.06)) return;
  const place = random.pick(['both', 'both', 'compact file only', 'log only'] as const);
  const tell = (at: number, fields: Readonly<Record<string, Json>>) => {
    const row = { ...about, ...fields };
    if (place !== 'log only') plan.faultEvents.push({ atMs: at, row: { ts: timestamp(random, at), ...row } });
    if (place !== 'compact file only') emit(plan, at, row);
  };
  layTrap(plan, `containment fault: ${place}`);
  const fault = {
    type: 'delegate_run_containment_fault',
    reason: 'reconcile_unreadable',
    detail: 'x'.repeat(random.int(5, 40)),
  };
  tell(atMs, fault);
  if (!random.chance(0.6)) return;
  tell(atMs + 500, { type: 'delegate_run_containment_resolved', reason: 'seen_again' });
  if (isTrap(plan, 'containment fault after its resolution', 0.4))
    tell(atMs + random.int(0, 1) * 60_000 + 500, fault);
}
