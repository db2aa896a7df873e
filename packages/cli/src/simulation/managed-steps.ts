import type { BlockKind, JsonValue, WorkerExit } from '@custody/ledger';
import { BLOCK_KINDS } from '@custody/ledger';
import { picked } from './random.ts';
import type { Step } from './step.ts';
import type { Held, Running, World } from './world.ts';

/** The answer of a command, as far as it is told. */
interface Answer {
  readonly outcome: string;
  readonly reason?: string;
  readonly status?: string;
}

type Act = (world: World, running: Running, step: Step) => Promise<Answer | string>;

const NOBODY: Held = { taskId: 'm-none', runId: 'run-none', fence: 1, holder: 'h-0', pid: null };
const EXITS: readonly WorkerExit[] = [
  { kind: 'code', code: 0 },
  { kind: 'code', code: 1 },
  { kind: 'code', code: 75 },
  { kind: 'unknown' },
];

/** Mostly a run that was claimed lately; now and then one from long ago, or with a fence that it never had. */
function heldRun(world: World, step: Step): Held {
  const held = picked(world.held, step.a % 4 === 0 ? step.b : step.b % 2) ?? NOBODY;
  return step.c % 19 === 0 ? { ...held, fence: held.fence + 1 } : held;
}

function taskOf(world: World, number: number): string {
  return picked(world.taskIds, number % 6) ?? 'm-none';
}

function blockKind(number: number): BlockKind | null {
  return [null, ...BLOCK_KINDS][number % (BLOCK_KINDS.length + 1)] ?? null;
}

/** What operators, holders and persons do to managed tasks. */
export const MANAGED_ACTS = {
  create: async (world, { ledger }, { a, b, c }) => {
    const taskId = `m-${world.next()}`;
    world.taskIds.push(taskId);
    world.writtenRows.add(taskId);
    const parent = a % 5 === 0 ? picked(world.taskIds.slice(0, -1), b) : null;
    return ledger.tasks.create({
      taskId,
      title: 'work',
      priority: c % 3,
      ...(parent === null ? {} : { parents: [parent] }),
      ...(c % 9 === 0 ? { initial: c % 2 === 0 ? ('triage' as const) : ('blocked' as const) } : {}),
      ...(c % 4 === 0 ? {} : { maxRetries: 5 }),
    });
  },
  link: async (world, { ledger }, { a, b }) =>
    ledger.tasks.link({ taskId: taskOf(world, a), parentId: taskOf(world, b) }),
  claim: async (world, { ledger, epoch }, { a, b, c }) => {
    const pid = c % 4 === 0 ? world.processes.start() : null;
    const holder = `h-${a % 4}`;
    const answer = await ledger.runs.claim({
      holder,
      ...(b % 3 === 0 ? { taskId: taskOf(world, a) } : {}),
      ...(c % 3 === 0 ? { ttlMs: 60_000 } : {}),
      ...(pid === null ? {} : { pid }),
    });
    if (answer.outcome !== 'claimed') return answer;
    world.acknowledged.set(String(answer.fence), 'seq');
    world.held.push({ taskId: answer.task_id, runId: answer.run_id, fence: answer.fence, holder, pid });
    return `claimed ${answer.task_id} ${answer.run_id} fence ${answer.fence} epoch ${epoch}`;
  },
  beat: async (world, { ledger }, step) => ledger.runs.heartbeat(heldRun(world, step)),
  push: async (world, { ledger }, step) => ledger.runs.push({ ...heldRun(world, step), state: 'working' }),
  submit: async (world, { ledger }, step) => {
    const held = heldRun(world, step);
    // Keys come again, mostly with the same value: that is how a step is handed in once more.
    const idempotencyKey = `k-${step.b % 7 === 0 ? 'any' : held.taskId}-${step.c % 2}`;
    return ledger.runs.submit({ ...held, idempotencyKey, value: step.a % 5 === 0 ? 2 : 1 });
  },
  complete: async (world, { ledger }, step) => {
    const answer = await ledger.runs.complete({ ...heldRun(world, step), result: resultOf(step) });
    if (answer.outcome === 'completed') world.acknowledged.set(String(answer.seq), 'seq');
    return answer;
  },
  replay: async (world, { ledger }, step) => {
    const { taskId, runId } = heldRun(world, step);
    return ledger.runs.complete({ taskId, runId, replay: true, result: resultOf(step) });
  },
  block: async (world, { ledger }, step) =>
    ledger.runs.block({ ...heldRun(world, step), reason: 'stuck', kind: blockKind(step.c) }),
  unblock: async (world, { ledger }, { a }) => ledger.tasks.unblock({ taskId: taskOf(world, a) }),
  specify: async (world, { ledger }, { a, c }) => {
    const taskId = taskOf(world, a);
    return c % 2 === 0
      ? ledger.tasks.specify({ taskId, title: `work ${c}`, author: 'ann' })
      : ledger.tasks.promote({ taskId, actor: 'ann' });
  },
  fail: async (world, { ledger }, step) => ledger.runs.fail({ ...heldRun(world, step), reason: 'no' }),
  exit: async (world, { ledger }, step) =>
    ledger.runs.exited({
      ...heldRun(world, step),
      exit: EXITS[step.c % EXITS.length] ?? { kind: 'unknown' },
    }),
  end_process: async (world, _running, step) => {
    const { pid } = heldRun(world, step);
    if (pid === null) return 'no process';
    world.processes.end(pid);
    return `pid ${pid} ended`;
  },
  reclaim: async (world, { ledger }, step) => {
    const { taskId, runId } = heldRun(world, step);
    return ledger.runs.reclaim({ taskId, runId, reason: 'by hand' });
  },
  refresh: async (world, { ledger }, step) => {
    const held = heldRun(world, step);
    const answer = await ledger.runs.refresh(held);
    if (answer.outcome === 'refreshed') held.fence = answer.fence;
    return answer;
  },
  ask: async (world, { ledger }, step) => {
    const answer = await ledger.runs.ask({ ...heldRun(world, step), ...questionOf(step) });
    if (answer.outcome === 'asked') world.questions.push(answer.question_id);
    return answer;
  },
  park: async (world, { ledger }, step) => {
    const held = heldRun(world, step);
    const known = step.c % 3 === 0 ? picked(world.questions, step.c % 2) : null;
    const answer = await ledger.runs.park(
      known === null ? { ...held, ...questionOf(step) } : { ...held, questionId: known },
    );
    if (answer.outcome === 'parked' && known === null) world.questions.push(answer.question_id);
    return answer;
  },
  answer: async (world, { ledger }, step) => {
    const questionId = picked(world.questions, step.a % 3);
    if (questionId === null) return 'nobody asked';
    // Each answer is unlike any other, so that a notice tells by its text whose verdict it brings.
    return ledger.questions.answer({ questionId, text: `answer ${world.next()}` });
  },
  take: async (world, { ledger }, step) => {
    const held = heldRun(world, step);
    const offered = await ledger.questions.deliveries(held);
    if (offered.outcome !== 'offered') return offered;
    const questionId = offered.deliveries[0]?.question_id ?? picked(world.questions, step.a % 3);
    return questionId === null ? 'nothing offered' : ledger.questions.ack({ ...held, questionId });
  },
  cancel: async (world, { ledger }, { a }) =>
    ledger.tasks.cancel({ taskId: taskOf(world, a), reason: 'enough' }),
  archive: async (world, { ledger }, { a }) => ledger.tasks.archive({ taskId: taskOf(world, a) }),
  journal: async (world, { journals }, step) => {
    const { taskId, runId } = heldRun(world, step);
    if (runId === NOBODY.runId) return 'nobody holds anything';
    if (world.journaled.some((entry) => entry.runId === runId)) return 'handed in already';
    await journals.write({ taskId, runId, result: `result of ${runId}` });
    world.journaled.push({ taskId, runId });
    return `kept the result of ${runId}`;
  },
} as const satisfies Readonly<Record<string, Act>>;

function resultOf(step: Step): JsonValue {
  return { number: step.c % 3 };
}

function questionOf({ c }: Step): {
  readonly question: string;
  readonly options: readonly string[];
  readonly allowText: true;
} {
  return { question: `which ${c % 4}?`, options: ['Port', 'Starboard'], allowText: true };
}

/** An answer in a few words. */
export function answerText(answer: Answer | string): string {
  if (typeof answer === 'string') return answer;
  return [answer.outcome, answer.reason, answer.status].filter((part) => part !== undefined).join(' ');
}
