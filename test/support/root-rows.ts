import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Fold } from '../oracle/fold.ts';
import { custodyFields } from './root-disclosure.ts';
import type { Json, JsonFields, JsonStyle } from './root-json.ts';
import { floatJson, rawJson, renderJson } from './root-json.ts';
import type { RootPlan } from './root-plan.ts';
import { isTrap, layTrap, SPAN_MS, timestamp } from './root-plan.ts';

const ROW_ID = /^[A-Za-z0-9][A-Za-z0-9_.-]{0,127}$/;

/**
 * Writes the row files, and the replicas that some of them name.
 *
 * @param folds the log as it is now, then as it was at earlier moments.
 */
export function writeRows(root: string, plan: RootPlan, folds: readonly [Fold, ...Fold[]]): void {
  mkdirSync(join(root, 'task_results'), { recursive: true });
  plan.taskIds.forEach((taskId, index) => {
    if (!ROW_ID.test(taskId)) {
      layTrap(plan, 'task id that can have no row');
      return;
    }
    // The first tasks have most of the runs; their rows are always there and terminal.
    const isFirst = index < 3;
    if (!isFirst && isTrap(plan, 'task without a row', 0.06)) return;
    const status = isFirst ? 'failed' : someStatus(plan);
    const row = {
      ...identity(plan, taskId, status),
      ...foreignFields(plan),
      ...custodyFields(plan, taskId, folds),
      ...lineage(plan),
    };
    const drive = writeReplica(root, plan, { taskId, row });
    writeFileSync(
      join(root, 'task_results', `${taskId}.json`),
      render(
        plan,
        isTrap(plan, 'keys in another order', 0.1) ? reversed({ ...row, ...drive }) : { ...row, ...drive },
      ),
    );
  });
}

function someStatus(plan: RootPlan): Json | undefined {
  const status = plan.random.weighted<Json | undefined>([
    [45, 'failed'],
    [25, 'completed'],
    [8, 'cancelled'],
    [4, 'rejected_duplicate'],
    [6, 'running'],
    [3, 'requested'],
    [2, 'scheduled'],
    [2, 'interrupted'],
    [2, 'cancel_requested'],
    [1, 'done'],
    [1, undefined],
    [1, null],
    [1, 'Failed'],
  ]);
  layTrap(plan, `status ${String(status)}`);
  return status;
}

function identity(plan: RootPlan, taskId: string, status: Json | undefined): JsonFields {
  const { random } = plan;
  const atMs = random.int(0, SPAN_MS);
  const isOther = isTrap(plan, 'row that names another task than its file', 0.03);
  return {
    _schema_version: isTrap(plan, 'row without a schema version', 0.1) ? undefined : 1,
    task_id: isOther ? random.pick<Json | undefined>([undefined, 'task-decoy', 5]) : taskId,
    status,
    ts: timestamp(random, atMs),
    updated_at: timestamp(random, atMs + 1),
    reason_code: random.pick(['', 'provider_unavailable', 'tool_error', 'delegated_custody_unreconciled']),
    outcome_axes: random.chance(0.9)
      ? { execution: { status: random.pick(['ok', 'failed', 'infra_failed']) } }
      : undefined,
    result: random.pick<Json | undefined>([
      'done',
      '',
      '[SUBTASK_OUTCOME] not really',
      'partial answer: ∑ = 3',
      undefined,
    ]),
    error: random.chance(0.3) ? 'provider said: 503' : undefined,
  };
}

/** Fields that we don't know; a heal must leave each of them exactly as it is. */
function foreignFields(plan: RootPlan): JsonFields {
  const fields: readonly JsonFields[] = [
    { x_vendor: { näme: 'señal 🙂', nested: [{ a: null }, { b: [true, 1.5] }], '': 'empty key' } },
    {
      x_snowflake: rawJson('9007199254740993'),
      x_ids: [rawJson('-123456789012345678901234567890'), rawJson('18446744073709551615')],
    },
    {
      x_huge: rawJson('1e400'),
      x_tiny: rawJson('1E-400'),
      x_exact: rawJson('0.1000000000000000055511151231257827'),
      x_zero: rawJson('-0.0'),
    },
    { x_float: floatJson(3), x_exponent: rawJson('1.0E+2') },
    Object.fromEntries([
      ['__proto__', { status: 'running' }],
      ['constructor', null],
      ['', 0],
    ]),
    {
      x_lone: '\ud83d alone',
      x_pair: '\ud83d\ude42',
      x_controls: '\u0000\u0007\u001f\u007f',
      x_slash: rawJson('"a\\/b\\u0041"'),
    },
    { trace_summary: 'line one\nline two\u2028still two\t"quoted"' },
    {
      usage: { prompt_tokens: 5, cost_usd: 0.19175, calls: [] },
      delegated_runs_unreconciled_note: ['run-decoy'],
    },
    {
      x_copy: {
        status: 'running',
        delegated_runs_unreconciled: ['run-decoy'],
        subagent_envelope: { execution_evidence: {} },
      },
    },
    { x_text: '"delegated_runs_unreconciled": ["run-decoy"], "status": "running"' },
  ];
  const chosen = fields.filter((_, index) => isTrap(plan, `foreign fields, kind ${index}`, 0.15));
  return Object.fromEntries(chosen.flatMap((some) => Object.entries(some)));
}

/** Retries: chains, cycles, pointers to nothing and to oneself. */
function lineage(plan: RootPlan): JsonFields {
  const { random } = plan;
  if (!isTrap(plan, 'row with a lineage', 0.2)) return {};
  const other = random.chance(0.15) ? 'task-missing' : random.pick(plan.taskIds);
  return random.pick<JsonFields>([
    { retry_task_id: other },
    { superseded_by: other },
    { original_task_id: other },
    { timeout_retry_from: other },
    { parent_task_id: other },
    { retry_task_id: other, superseded_by: '' },
  ]);
}

/** Sometimes the row names a child drive; then most of the time a replica stands there. */
function writeReplica(root: string, plan: RootPlan, about: { taskId: string; row: JsonFields }): JsonFields {
  const { random } = plan;
  if (!isTrap(plan, 'row with a child drive', 0.12)) return {};
  const drive = `children/${about.taskId}`;
  if (!isTrap(plan, 'child drive that is not there', 0.1)) {
    const directory = join(root, drive, 'task_results');
    mkdirSync(directory, { recursive: true });
    writeFileSync(join(directory, `${about.taskId}.json`), render(plan, replica(plan, about)));
  }
  return random.pick<JsonFields>([
    { child_drive_root: drive },
    { headless_child_drive_root: drive },
    { drive_root: drive },
    { metadata: { child_drive_root: drive, x_more: true } },
  ]);
}

function replica(plan: RootPlan, { taskId, row }: { taskId: string; row: JsonFields }): JsonFields {
  const { random } = plan;
  const count = random.pick<Json>([0, 9, '9', null]);
  const evidence = {
    delegated_runs_started: count,
    delegated_runs_settled: count,
    delegated_runs_succeeded: 0,
    delegated_runs_failed: 0,
    subscription_cost_usd: null,
  };
  return {
    _schema_version: 1,
    task_id: taskId,
    status: row['status'],
    result: 'told by the replica',
    x_replica: true,
    ...(random.chance(0.4) ? { delegated_runs_unreconciled: ['run-of-replica'] } : {}),
    ...(random.chance(0.6)
      ? {
          actual_substrate: 'harness_attempted',
          subagent_envelope: { executor_route: 'route-r', execution_evidence: evidence },
        }
      : {}),
  };
}

function render(plan: RootPlan, row: JsonFields): string {
  const { random } = plan;
  const indent = random.pick([2, 2, 2, 0, 4]);
  const style: JsonStyle = {
    isSpaced: indent > 0 || random.chance(0.5),
    isAscii: random.chance(0.4),
    indent,
  };
  const text = renderJson(row, style);
  const ending = isTrap(plan, 'row file with CRLF', 0.03) ? '\r\n' : '\n';
  return (ending === '\r\n' ? text.replaceAll('\n', ending) : text) + (random.chance(0.5) ? ending : '');
}

function reversed(row: JsonFields): JsonFields {
  return Object.fromEntries(Object.entries(row).reverse());
}
