import type { JsonObject, NewEvent, RowPutResult } from '@custody/ledger';
import { isTerminalStatus, parseTaskRow } from '@custody/ledger';
import type { EndedState } from '@custody/reconciler';
import { picked } from './random.ts';
import type { Step } from './step.ts';
import type { Message, Running, World } from './world.ts';

const TASKS = ['o-1', 'o-2', 'o-3', 'o-4'] as const;
const ENDS: readonly EndedState[] = ['succeeded', 'succeeded', 'failed', 'cancelled'];

/** The tasks whose rows an orchestrator writes. */
export function observedTask(number: number): string {
  return TASKS[number % TASKS.length] ?? TASKS[0];
}

/** Any task, observed or managed. */
export function anyTask(world: World, number: number): string {
  return number % 3 === 0 ? (picked(world.taskIds, number) ?? observedTask(number)) : observedTask(number);
}

/** Puts an event on its way, under an id that it keeps. */
function post(world: World, event: NewEvent): Message {
  const id = `e-${world.next()}`;
  // Said in the event, too, so that an effect that comes twice is seen under whatever id.
  const message = { event: { id, ...event, message: id } };
  world.outbox.push(message);
  world.sent.set(message.event.id, message);
  return message;
}

/** Sends a message. It stays on its way unless somebody says that it was taken down. */
export async function send(world: World, { ledger }: Running, message: Message): Promise<string> {
  const { id, type } = message.event;
  const isKnown = world.acknowledged.has(id);
  const result = await ledger.append([message.event]);
  if (isKnown) world.figures.hold('P10', result.appended === 0, () => `${id} was taken twice`);
  world.acknowledged.set(id, 'event');
  const at = world.outbox.indexOf(message);
  if (at >= 0) world.outbox.splice(at, 1);
  return `${type} ${id} ${result.appended === 1 ? 'appended' : 'duplicate'} at ${result.events[0]?.seq ?? 0}`;
}

/** A start is noted before it is sent to the executor, which may have got it or not. */
export async function request(world: World, running: Running, step: Step): Promise<string> {
  const key = `i-${world.next()}`;
  const taskId = anyTask(world, step.a);
  if (step.b % 3 !== 0) world.executor.submit(key, taskId);
  return send(
    world,
    running,
    post(world, {
      type: 'run.start_requested',
      invocation_id: key,
      task_id: taskId,
      idempotency_key: key,
      request: { prompt: 'do it' },
      ...(step.c % 13 === 0 ? { source: 'review_substrate_panel' } : {}),
    }),
  );
}

/** A run starts in the executor, and the ledger hears of it now or later. */
export async function start(world: World, running: Running, step: Step): Promise<string> {
  const taskId = anyTask(world, step.a);
  const key = step.b % 3 === 0 ? (picked([...world.executor.runOfKey.keys()], step.b) ?? '') : '';
  const runId = world.executor.submit(key === '' ? `s-${world.next()}` : key, taskId);
  const owner = world.executor.runs.get(runId)?.task_id ?? taskId;
  const message = post(world, {
    type: 'run.started',
    run_id: runId,
    task_id: owner,
    route: 'claude',
    ...(key === '' ? {} : { invocation_id: key }),
    ...(step.c % 2 === 0 ? { snapshot_id: `snap-${step.c % 5}` } : {}),
    ...(step.c % 3 === 0 ? { project_id: `p-${step.c % 2}`, project_owned: true } : {}),
    ...(step.c % 11 === 0 ? { source: 'review_substrate_panel' } : {}),
  });
  return step.c % 5 === 0 ? `${runId} started, the ledger will hear` : send(world, running, message);
}

/** A run ends in the executor. */
export function finish(world: World, step: Step): string {
  const run = picked(world.executor.running(), step.a);
  if (run === null) return 'nothing runs';
  run.state = ENDS[step.b % ENDS.length] ?? 'succeeded';
  post(world, {
    type: 'run.settled',
    run_id: run.run_id,
    task_id: run.task_id,
    state: run.state,
    model: `m-${step.c % 3}`,
    ...(step.c % 4 === 0 ? {} : { cost_usd: 1.25, spend_disclosed: true, spend_estimated: false }),
  });
  return `${run.run_id} ${run.state}`;
}

/** The executor loses a run. */
export function vanish(world: World, step: Step): string {
  const run = picked(world.executor.running(), step.a);
  if (run === null) return 'nothing runs';
  run.state = 'gone';
  world.figures.struck('run_vanished');
  return `${run.run_id} is gone`;
}

/** Some message gets through, not always the oldest. */
export async function deliver(world: World, running: Running, step: Step): Promise<string> {
  const at = world.outbox.length === 0 ? 0 : (step.a % 3) % world.outbox.length;
  const message = world.outbox[at];
  if (message === undefined) return 'nothing on its way';
  if (at > 0) world.figures.struck('event_reordered');
  return send(world, running, message);
}

/** A message comes again that was sent before, whatever became of it. */
export async function duplicate(world: World, running: Running, step: Step): Promise<string> {
  const message = picked([...world.sent.values()], step.a % 8);
  if (message === null) return 'nothing was sent';
  if (world.acknowledged.has(message.event.id)) world.figures.struck('event_duplicated');
  return send(world, running, message);
}

/** The end of a run is lost on its way: its writer gives up. Only the executor still knows. */
export function lose(world: World, step: Step): string {
  const ends = world.outbox.filter(({ event }) => event.type === 'run.settled');
  const message = picked(ends, step.a);
  if (message === null) return 'nothing on its way';
  world.outbox.splice(world.outbox.indexOf(message), 1);
  world.figures.struck('event_lost');
  return `${message.event.id} lost`;
}

const LEAVINGS: readonly ((number: number) => JsonObject & { readonly type: string })[] = [
  () => ({ type: 'output.spilled', staged: true, artifact: 'out.txt', sha256: 'sha-1', full_content: true }),
  () => ({ type: 'output.consumed', sha256: 'sha-1' }),
  () => ({ type: 'output.left_unread' }),
  () => ({ type: 'patch.captured' }),
  (number) => ({ type: 'patch.disposed', disposition: number % 2 === 0 ? 'applied' : 'rejected' }),
  (number) => ({ type: 'project.retired', project_id: `p-${number % 2}` }),
  () => ({ type: 'containment.fault', reason: 'reconcile_unreadable' }),
  () => ({ type: 'containment.resolved' }),
  () => ({ type: 'run.ledger_recorded' }),
  () => ({ type: 'x.note', note: 'whatever' }),
];

/** Something that a run left behind is taken down. */
export async function leave(world: World, running: Running, step: Step): Promise<string> {
  const run = picked([...world.executor.runs.values()], step.a);
  if (run === null) return 'no run';
  const leaving = LEAVINGS[step.b % LEAVINGS.length] ?? LEAVINGS[0];
  const fields = leaving?.(step.c) ?? { type: 'x.note' };
  return send(world, running, post(world, { ...fields, run_id: run.run_id, task_id: run.task_id }));
}

const STATUSES = ['running', 'failed', 'failed', 'completed', 'cancelled'] as const;
const EXECUTIONS = ['ok', 'failed', 'infra_failed', 'crashed'] as const;

/** The orchestrator writes the row of one of its tasks. */
export async function putRow(world: World, { ledger }: Running, step: Step): Promise<string> {
  const taskId = observedTask(step.a);
  const row: JsonObject = {
    task_id: taskId,
    status: STATUSES[step.b % STATUSES.length] ?? 'failed',
    result: `r-${step.c % 4}`,
    ...(step.c % 2 === 0 ? { delegated_runs_unreconciled: step.c % 3 === 0 ? ['r-unknown'] : [] } : {}),
    ...(step.c % 5 === 0 ? { outcome_axes: { execution: { status: EXECUTIONS[step.b % 4] ?? 'ok' } } } : {}),
    ...(step.c % 7 === 0 ? { delegated_runs_started: 1, delegated_runs_settled: 0 } : {}),
    ...(step.c % 3 === 0 ? { actual_substrate: 'native_only' } : {}),
    ...(step.c % 4 === 0
      ? { subagent_envelope: { executor_route: 'r', execution_evidence: { delegated_runs_settled: 0 } } }
      : {}),
  };
  return put(world, { ledger }, row);
}

/** Somebody tries to change what is frozen on a row that has ended. */
export async function rewrite(world: World, running: Running, step: Step): Promise<string> {
  const taskId = anyTask(world, step.a);
  const loaded = await running.ledger.rows.load(taskId);
  if (loaded === null || !isTerminalStatus(loaded.row.status)) return 'no such row has ended';
  const changed = step.b % 2 === 0 ? { status: 'running' } : { result: `changed ${step.c}` };
  const said = await put(world, running, { ...loaded.row.value, ...changed });
  world.figures.hold(
    'P4',
    said.startsWith('refused'),
    () => `a write of ${taskId} that changes what is frozen was ${said}`,
  );
  return said;
}

async function put(world: World, { ledger }: Pick<Running, 'ledger'>, row: JsonObject): Promise<string> {
  world.writtenRows.add(String(row['task_id']));
  world.puts.add(String(row['task_id']));
  const [result] = await ledger.rows.put([parseTaskRow(JSON.stringify(row))]);
  return result === undefined ? 'unanswered' : said(result);
}

function said(result: RowPutResult): string {
  return result.outcome === 'refused'
    ? `refused ${result.fields.join(',')}`
    : `${result.outcome} ${result.task_id}`;
}
