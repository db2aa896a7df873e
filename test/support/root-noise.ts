import type { Json, JsonFields } from './root-json.ts';
import { lineStyle, renderJson } from './root-json.ts';
import type { RootPlan } from './root-plan.ts';
import { layTrap, timestamp } from './root-plan.ts';

const WORDS = [
  'plan',
  'cache',
  'merge',
  'lease',
  'cursor',
  'rebuild',
  'green',
  'tests',
  'review',
  'naïve',
  'señal',
  'tab\there',
  'new\nline',
  'quote"d',
  'back\\slash',
  'bell\u0007',
  'nul\u0000byte',
  'line\u2028separator',
  'para\u2029graph',
  'next\u0085line',
  '🙂',
  '👩‍🚀',
  'e\u0301',
  'ﬁ',
  'привет',
  'λόγος',
  'עברית',
  '日本語',
  'delegate_run',
  'delegate_run_settled',
  'delegated_runs_unreconciled',
  '{"type": "delegate_run_settled", "run_id": "run-decoy"}',
  '"run_id": "run-decoy"}\n',
] as const;

const BROKEN_LINES = [
  ['blank line', ''],
  ['blank line', '\r'],
  ['blank line', '   '],
  ['blank line', '\t'],
  ['line that is no object', 'null'],
  ['line that is no object', '[1, 2, 3]'],
  ['line that is no object', '"delegate_run_settled"'],
  ['line that is no object', '42'],
  ['line that is no object', 'true'],
  ['line that is no JSON', 'delegate_run_settled run-decoy'],
  ['line that is no JSON', '{"type": "delegate_run_settled", "run_id": "run-decoy",}'],
  [
    'line that is no JSON',
    '{"type": "delegate_run_settled", "run_id": "run-decoy", "note": "raw \u0007 bell"}',
  ],
  ['line that is no JSON', "{'type': 'delegate_run_settled', 'run_id': 'run-decoy'}"],
  ['line that is no JSON', '\u0000\u0000\u0000\u0000'],
] as const;

/** Bytes that are no UTF-8: a reader replaces them and goes on. */
export const BAD_BYTES = Buffer.from([
  0xff, 0xfe, 0x20, 0xc3, 0x28, 0x20, 0xe2, 0x82, 0x20, 0xed, 0xa0, 0x80,
]);

/** Stands for BAD_BYTES in a text that is still to be encoded. */
export const BAD_BYTES_MARK = '\ue000';

/** One line, without its newline, that must not change any answer. */
export function noiseLine(plan: RootPlan, atMs: number): string {
  const { random } = plan;
  if (random.chance(0.015)) {
    const [name, line] = random.pick<readonly [string, string]>(BROKEN_LINES);
    layTrap(plan, name);
    return line;
  }
  if (random.chance(0.02)) return brokenCustody(plan, atMs);
  const row = random.chance(0.03) ? decoyKind(plan, atMs) : otherRow(plan, atMs);
  return renderJson(row, lineStyle(random));
}

function otherRow(plan: RootPlan, atMs: number): JsonFields {
  const { random } = plan;
  const head = (type: string) => ({ ts: timestamp(random, atMs), type, task_id: random.pick(plan.taskIds) });
  const kind = random.pick([
    'chat_message',
    'llm_usage',
    'tool_call',
    'task_progress',
    'budget_tick',
    'worker_boot',
  ]);
  if (kind === 'chat_message') {
    return {
      ...head(kind),
      role: 'user',
      content: [{ type: 'text', text: words(plan) }],
      raw: badBytes(plan),
    };
  }
  if (kind === 'llm_usage') {
    const usage = {
      prompt_tokens: random.int(100, 99_999),
      cost: random.int(0, 999_999) / 1e6,
      echo: words(plan),
    };
    return { ...head(kind), model: 'model-b', cost_usd: 99.5, usage };
  }
  if (kind === 'tool_call')
    return { ...head(kind), tool: 'delegate_run', result: { ok: true, ...echo(plan) } };
  if (kind === 'task_progress')
    return { ...head(kind), percent: random.int(0, 99), steps: [words(plan), { note: words(plan) }] };
  return {
    ...head(kind),
    detail: { note: words(plan), values: [random.next(), random.next()] },
    raw: badBytes(plan),
  };
}

/** Sometimes a whole custody row inside another row, before or after the fields that count. */
function echo(plan: RootPlan): JsonFields {
  const output = words(plan);
  if (!plan.random.chance(0.1)) return { output };
  layTrap(plan, 'custody row inside another row');
  const inner = {
    type: 'delegate_run_settled',
    run_id: anyRunId(plan),
    task_id: anyTaskId(plan),
    state: 'failed',
  };
  return plan.random.chance(0.5)
    ? { output, echoed: inner }
    : { output, echoed: [inner, renderJson(inner, lineStyle(plan.random))] };
}

/** Kinds that look like custody and are not. */
function decoyKind(plan: RootPlan, atMs: number): JsonFields {
  layTrap(plan, 'kind that begins or looks the same');
  const type = plan.random.pick<Json>([
    'delegate_runner_note',
    'delegate_run_xyz',
    'delegate_running',
    'delegate_run',
    'delegate_run_',
    'Delegate_run_settled',
    ' delegate_run_settled',
    'delegate_run_settled ',
    'delegate_run_settled_x',
    'x.delegate_run_settled',
    'delegated_run_settled',
    ['delegate_run_settled'],
    { type: 'delegate_run_settled' },
    null,
    7,
  ]);
  const about = {
    run_id: anyRunId(plan),
    task_id: anyTaskId(plan),
    state: 'failed',
    project_id: 'project-0',
  };
  return {
    ts: timestamp(plan.random, atMs),
    type,
    ...about,
    invocation_id: 'decoy',
    definite: true,
    level: 1,
  };
}

/** A custody row that was cut, doubled on one line, or wrapped in a list: lost, all of them. */
function brokenCustody(plan: RootPlan, atMs: number): string {
  const { random } = plan;
  const about = {
    run_id: anyRunId(plan),
    task_id: anyTaskId(plan),
    state: 'failed',
    outcome_reason: words(plan),
  };
  const line = renderJson(
    { ts: timestamp(random, atMs), type: 'delegate_run_settled', ...about },
    lineStyle(random),
  );
  const kind = random.pick(['cut line', 'two rows glued into one line', 'custody row in a list']);
  layTrap(plan, kind);
  if (kind === 'cut line') return line.slice(0, random.int(20, line.length - 1));
  return kind === 'custody row in a list' ? `[${line}]` : line.slice(0, random.int(20, line.length)) + line;
}

/** A few words; some hold what a careless reader would take for a row. */
export function words(plan: RootPlan): string {
  return Array.from({ length: plan.random.int(1, 6) }, () => plan.random.pick(WORDS)).join(' ');
}

function badBytes(plan: RootPlan): string | undefined {
  if (!plan.random.chance(0.03)) return undefined;
  layTrap(plan, 'bytes that are no UTF-8');
  return `bytes ${BAD_BYTES_MARK} end`;
}

function anyTaskId(plan: RootPlan): string {
  return plan.random.chance(0.3) ? 'task-decoy' : plan.random.pick(plan.taskIds);
}

/** The id of a run of which an earlier event tells, or of none. */
function anyRunId(plan: RootPlan): Json {
  const known = plan.events[plan.random.int(0, Math.max(0, plan.events.length - 1))]?.row['run_id'];
  return known === undefined || known === '' || plan.random.chance(0.2) ? 'run-decoy' : known;
}
