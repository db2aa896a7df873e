import type { Json, JsonFields } from './root-json.ts';
import { floatJson, rawJson } from './root-json.ts';
import type { RootPlan, RunFacts } from './root-plan.ts';
import { emit, isTrap, layTrap, SPAN_MS } from './root-plan.ts';

const SETTLED = 'delegate_run_settled';
const CLOSED_ABSENT = 'delegate_run_closed_absent';

/**
 * Tells how a run ended, or leaves it open.
 *
 * @returns when that was, after the start also where the row overtook it; null for an open run.
 */
export function tellEnd(plan: RootPlan, facts: RunFacts): number | null {
  const { random } = plan;
  const endMs = facts.startMs + random.int(1000, 7_200_000);
  const kind = random.weighted([
    [60, 'settled'],
    [10, 'closed absent'],
    [16, 'open'],
    [3, 'closed absent, then settled'],
    [2, 'settled, then closed absent'],
    [4, 'settled twice alike'],
    [5, 'settled twice, another verdict'],
    [2, 'settled without a state, then with one'],
  ]);
  layTrap(plan, kind);
  if (kind === 'open') return null;
  const atMs = isTrap(plan, 'end before its start', 0.08) ? facts.startMs - random.int(1, 4000) : endMs;
  const settle = () => settledFields(plan, facts);
  const later = atMs + random.int(0, isTrap(plan, 'second end far later', 0.3) ? SPAN_MS : 3000);
  const first = settle();
  if (kind === 'closed absent') emit(plan, atMs, { type: CLOSED_ABSENT, ...absentFields(plan, facts) });
  else if (kind === 'closed absent, then settled') {
    emit(plan, atMs, { type: CLOSED_ABSENT, ...absentFields(plan, facts) });
    emit(plan, later, { type: SETTLED, ...first });
  } else {
    tellLedger(plan, facts, atMs);
    emit(plan, atMs, {
      type: SETTLED,
      ...(kind.includes('without a state')
        ? { ...first, state: random.pick<Json | undefined>([undefined, '', null]) }
        : first),
    });
  }
  if (kind === 'settled, then closed absent')
    emit(plan, later, { type: CLOSED_ABSENT, ...absentFields(plan, facts) });
  if (kind === 'settled twice alike') emit(plan, later, { type: SETTLED, ...first });
  if (kind === 'settled twice, another verdict' || kind.includes('without a state'))
    emit(plan, later, { type: SETTLED, ...settle() });
  return endMs;
}

function tellLedger(plan: RootPlan, facts: RunFacts, atMs: number): void {
  if (isTrap(plan, 'settle that failed first', 0.05)) {
    emit(plan, atMs - 20, {
      type: 'delegate_run_settle_failed',
      run_id: facts.runId,
      task_id: facts.taskId,
      step: 'ledger_write',
    });
  }
  if (plan.random.chance(0.7))
    emit(plan, atMs - 10, { type: 'delegate_run_ledger_recorded', run_id: facts.runId });
}

function settledFields(plan: RootPlan, facts: RunFacts): JsonFields {
  const { random } = plan;
  const state = random.weighted<Json | undefined>([
    [60, 'succeeded'],
    [15, 'failed'],
    [8, 'cancelled'],
    [6, 'interrupted'],
    [2, 'evaporated'],
    [1, 'Succeeded'],
    [1, 'succeeded '],
    [2, undefined],
    [1, ''],
    [1, null],
    [1, 3],
    [1, 'state-\uff5e'],
    [1, 'state-\u{1f600}'],
  ]);
  if (!['succeeded', 'failed', 'cancelled', 'interrupted'].includes(String(state)))
    layTrap(plan, 'unknown or missing state');
  return { ...endFields(plan, facts), state, ...costFields(plan), ...reportFields(plan) };
}

/** A CLOSED_ABSENT row may carry what a SETTLED row carries; it means nothing there. */
function absentFields(plan: RootPlan, facts: RunFacts): JsonFields {
  const ids = endFields(plan, facts);
  if (!isTrap(plan, 'closed absent with the fields of a settle', 0.5))
    return { ...ids, reason: 'reconcile_absent' };
  return { ...settledFields(plan, facts), ...ids, state: 'succeeded' };
}

function endFields(plan: RootPlan, facts: RunFacts): JsonFields {
  const source = isTrap(plan, 'source of an end row that differs', 0.05)
    ? plan.random.pick(['review_substrate', 'delegated_subagent', null])
    : facts.source;
  return {
    run_id: endRunId(plan, facts),
    task_id: endTaskId(plan, facts),
    route: 'route-a',
    source: plan.random.chance(0.6) ? source : undefined,
  };
}

function endRunId(plan: RootPlan, facts: RunFacts): Json | undefined {
  return isTrap(plan, 'end row without a usable run id', 0.01)
    ? plan.random.pick<Json | undefined>([undefined, '', 99, null])
    : facts.runId;
}

function endTaskId(plan: RootPlan, facts: RunFacts): Json | undefined {
  if (!isTrap(plan, 'end row with another task id, or none', 0.04)) return facts.taskId;
  return plan.random.pick<Json | undefined>([undefined, '', 12, null, plan.random.pick(plan.taskIds)]);
}

function costFields(plan: RootPlan): JsonFields {
  const { random } = plan;
  if (isTrap(plan, 'settle without any cost fields', 0.05)) return {};
  const amount = random.int(0, 99_999) / 1e4;
  const cost = random.weighted<Json | undefined>([
    [55, floatJson(amount)],
    [12, rawJson('0.0')],
    [4, 0],
    [3, rawJson('-0.0')],
    [6, String(amount)],
    [2, '0.0'],
    [1, ' 1.5 '],
    [1, '1e-3'],
    [5, null],
    [3, undefined],
    [1, ''],
    [1, 'n/a'],
    [2, '0x10'],
    [2, '12 USD'],
    [2, true],
    [2, rawJson('1e400')],
    [1, rawJson('2.50E+0')],
    [1, [1]],
  ]);
  return {
    cost_usd: cost,
    cost_final: random.chance(0.8),
    spend_disclosed: random.weighted<Json | undefined>([
      [85, true],
      [8, false],
      [3, undefined],
      [1, null],
      [2, 1],
      [1, 'yes'],
      [1, ''],
    ]),
    spend_estimated: random.weighted<Json | undefined>([
      [80, false],
      [14, true],
      [3, undefined],
      [2, 0],
      [3, 1],
    ]),
  };
}

function reportFields(plan: RootPlan): JsonFields {
  const { random } = plan;
  const long = 'profile-that-is-longer-than-thirty-two-characters';
  return {
    model: random.weighted<Json | undefined>([
      [30, 'model-a'],
      [20, 'model-b'],
      [10, 'model-c/large'],
      [10, ''],
      [5, undefined],
      [2, null],
      [1, 8],
      [1, 'modèle-🙂'],
    ]),
    access_profile: random.weighted<Json | undefined>([
      [30, 'readonly'],
      [30, 'workspace_write'],
      [20, 'full'],
      [10, ''],
      [5, undefined],
      [3, long],
      [2, `${long}-b`],
      [15, `profile-${random.int(0, 20)}`],
      [1, '🙂'.repeat(40)],
    ]),
    credential_profile_id: random.chance(0.9) ? 'profile-1' : undefined,
    outcome_reason: random.pick<Json | undefined>([undefined, '', 'wall_clock_exceeded', 'provider_error']),
  };
}
