import { auditOf } from '../oracle/audit.ts';
import type { Evidence } from '../oracle/evidence.ts';
import { evidenceOf, substrateOf } from '../oracle/evidence.ts';
import type { Fold } from '../oracle/fold.ts';
import type { Json, JsonFields } from './root-json.ts';
import { floatJson } from './root-json.ts';
import type { RootPlan } from './root-plan.ts';
import { isTrap, layTrap } from './root-plan.ts';

/** The custody fields of a row, as somebody wrote them when the log was as long as one of `folds`. */
export function custodyFields(plan: RootPlan, taskId: string, folds: readonly [Fold, ...Fold[]]): JsonFields {
  const { random } = plan;
  const fold = random.chance(0.4) ? folds[0] : (folds[random.int(0, folds.length - 1)] ?? folds[0]);
  layTrap(plan, fold === folds[0] ? 'row of now' : 'row of before');
  return { ...disclosure(plan, taskId, fold), ...execution(plan, taskId, fold) };
}

function disclosure(plan: RootPlan, taskId: string, fold: Fold): JsonFields {
  const { random } = plan;
  const trigger = random.pick(['terminal_boundary', 'sweep_refresh', 'boot_backfill']);
  const envelope = auditOf(fold, taskId, trigger) as JsonFields;
  const list = envelope['unreconciled'] ?? [];
  const kind = random.weighted([
    [40, 'disclosure in full'],
    [12, 'no disclosure'],
    [8, 'flat list only'],
    [5, 'flat list of a run that is gone'],
    [4, 'unknown token'],
    [4, 'envelope without some of its lists'],
    [4, 'retirements that are no longer right'],
    [3, 'envelope without a flat list'],
    [3, 'empty list only'],
    [6, 'list in another order'],
    [2, 'list that is no list'],
    [2, 'envelope that is no object'],
    [2, 'empty envelope'],
    [2, 'receipts with more keys'],
  ]);
  layTrap(plan, kind);
  const full = { delegated_runs_unreconciled: list, delegate_terminal_reconciliation: envelope };
  const withEnvelope = (fields: JsonFields): JsonFields => ({
    ...full,
    delegate_terminal_reconciliation: { ...envelope, ...fields },
  });
  switch (kind) {
    case 'no disclosure':
      return {};
    case 'flat list only':
      return { delegated_runs_unreconciled: list };
    case 'flat list of a run that is gone':
      return { delegated_runs_unreconciled: ['run-gone', 'patch:run-gone'] };
    case 'unknown token':
      return unknownDisclosure(taskId, trigger);
    case 'envelope without some of its lists':
      return withEnvelope({
        terminal_runs: undefined,
        deferred_project_retirements: random.chance(0.5) ? undefined : null,
      });
    case 'retirements that are no longer right':
      return withEnvelope({ deferred_project_retirements: ['run-retired-long-ago'] });
    case 'envelope without a flat list':
      return { delegate_terminal_reconciliation: envelope };
    case 'empty list only':
      return { delegated_runs_unreconciled: [] };
    case 'list in another order':
      return {
        ...full,
        delegated_runs_unreconciled: Array.isArray(list) ? [...(list as Json[])].reverse() : list,
      };
    case 'list that is no list':
      return {
        ...(random.chance(0.5) ? full : {}),
        delegated_runs_unreconciled: random.pick<Json>(['run-gone', null, null, { 0: 'run-gone' }, 1, false]),
      };
    case 'envelope that is no object':
      return { ...full, delegate_terminal_reconciliation: random.pick<Json>(['ok', null, [], [1]]) };
    case 'empty envelope':
      return { ...full, delegate_terminal_reconciliation: {} };
    case 'receipts with more keys':
      return withEnvelope({
        terminal_runs: [{ run_id: 'run-gone', state: 'succeeded', outcome: 'x' }],
        x_more: 1,
      });
    default:
      return full;
  }
}

function unknownDisclosure(taskId: string, trigger: string): JsonFields {
  const list = ['delegated_run_state_unknown:custody_log_unreadable'];
  const envelope = { task_id: taskId, trigger, outcomes: [], audit_status: 'failed', unreconciled: list };
  return { delegated_runs_unreconciled: list, delegate_terminal_reconciliation: envelope };
}

function execution(plan: RootPlan, taskId: string, fold: Fold): JsonFields {
  const { random } = plan;
  const evidence = evidenceOf(fold, taskId);
  const substrate = substrateOf(evidence);
  const kind = random.weighted([
    [40, 'evidence in full'],
    [20, 'no evidence'],
    [12, 'counters without an envelope'],
    // Where nothing ran, only a wrong substrate or count makes a heal write the evidence at all.
    [evidence.delegated_runs_started === 0 ? 40 : 4, 'another substrate'],
    [3, 'counters without a substrate'],
    [3, 'envelope without evidence'],
    [3, 'evidence that is empty'],
    [3, 'evidence that is no object'],
    [3, 'envelope that is a string'],
    [3, 'substrate only'],
  ]);
  layTrap(plan, kind);
  const counters = topCounters(plan, evidence);
  const dispatch = {
    executor_route: 'route-a',
    effective_executor: 'harness',
    note: 'dispatch choice',
    x_kept: { a: [1, null] },
  };
  const top = { ...counters, actual_substrate: substrate, native_contribution: 'unknown' };
  const withStored = (stored: Json | undefined): JsonFields => ({
    ...top,
    subagent_envelope: { ...dispatch, actual_substrate: substrate, execution_evidence: stored },
  });
  switch (kind) {
    case 'no evidence':
      return isTrap(plan, 'foreign key that begins like a counter', 0.2)
        ? { delegated_runs_note: 'foreign' }
        : {};
    case 'counters without an envelope':
      return top;
    case 'another substrate':
      return {
        ...top,
        actual_substrate: random.pick<Json>([
          'native_only',
          'harness_used',
          'harness_attempted',
          '',
          null,
          1,
        ]),
      };
    case 'counters without a substrate':
      return counters;
    case 'envelope without evidence':
      return withStored(undefined);
    case 'evidence that is empty':
      return withStored({});
    case 'evidence that is no object':
      return withStored(random.pick<Json>([null, [], 'none', 1]));
    case 'envelope that is a string':
      return { ...top, subagent_envelope: random.pick<Json>(['route-a', null, [], [1]]) };
    case 'substrate only':
      return {
        actual_substrate: random.pick(['native_only', 'harness_used']),
        delegated_runs_note: random.chance(0.5) ? 'foreign' : undefined,
      };
    default:
      return withStored(storedEvidence(plan, evidence));
  }
}

/** Frozen at the first terminal write, so they may say anything. */
function topCounters(plan: RootPlan, evidence: Evidence): JsonFields {
  const isOld = plan.random.chance(0.3);
  return {
    delegated_runs_started: evidence.delegated_runs_started,
    delegated_runs_settled: isOld ? 0 : evidence.delegated_runs_settled,
    delegated_runs_succeeded: isOld ? 0 : evidence.delegated_runs_succeeded,
    delegated_runs_failed: isOld
      ? plan.random.pick<Json | undefined>([0, null, '1', undefined])
      : evidence.delegated_runs_failed,
    delegated_runs_source_unresolved: 0,
  };
}

function storedEvidence(plan: RootPlan, evidence: Evidence): JsonFields {
  const { random } = plan;
  const cost = evidence.subscription_cost_usd;
  const stored: JsonFields = {
    ...(evidence as unknown as JsonFields),
    subscription_cost_usd: cost === null ? null : floatJson(cost),
  };
  if (!isTrap(plan, 'stored evidence that is not quite right', 0.4)) return stored;
  const key = random.pick([
    'delegated_runs_started',
    'delegated_runs_settled',
    'delegated_runs_succeeded',
    'delegated_runs_failed',
    'delegated_runs_source_unresolved',
  ]);
  const value = stored[key] ?? 0;
  const count = typeof value === 'number' ? value : 0;
  return {
    ...stored,
    ...random.pick<JsonFields>([
      { [key]: String(count) },
      { [key]: null },
      { [key]: undefined },
      { [key]: count > 0 },
      { [key]: [count] },
      { [key]: count + 1 },
      { [key]: floatJson(count) },
      { subscription_cost_usd: undefined },
      { subscription_cost_usd: String(cost) },
      { subscription_cost_usd: 0 },
      { subscription_cost_usd: false },
      { harness_models: ['model-never'] },
      { subscription_cost_estimated: 'no' },
      { x_more: 1 },
    ]),
  };
}
