import type { Ledger } from '@custody/ledger';
import { parseTaskRow } from '@custody/ledger';
import type { Owed } from './check-pass.ts';
import { checkPass } from './check-pass.ts';
import { textIn } from './log-model.ts';
import { observedTask, send } from './observed-steps.ts';
import type { Observer } from './observer.ts';
import { backfill, sweep } from './pass-steps.ts';
import type { Running, World } from './world.ts';

/** Claims that every verdict which is still owed is told by. */
const ROUNDS = 4;
const LONG_MS = 10_000_000;

/** Ends all faults, lets everything come that is on its way, and checks that what was owed is paid. */
export async function settleDown(world: World, observer: Observer, owed: Owed): Promise<void> {
  const running = await calm(world);
  for (const message of [...world.outbox]) await send(world, running, message);
  await observer.look();
  for (const _ of [1, 2]) {
    const { done } = await sweep(world, running, []);
    await observer.look();
    await checkPass({ world, observer, owed, done });
  }
  checkEnds(world, observer);
  checkJournals(world, observer);
  await endRows(world, running);
  await observer.look();
  const last = await sweep(world, running, []);
  await observer.look();
  await checkPass({ world, observer, owed, done: last.done });
  if (running.ledger.managesTasks) await runDown(world, running, observer);
  const healed = await backfill(world, running);
  await observer.look();
  await checkPass({ world, observer, owed, done: healed.done });
  const report = await running.ledger.verify({ rebuild: true });
  world.figures.hold('P2', report.ok, () => `verify --rebuild: ${JSON.stringify(report.problems)}`);
}

/** New processes, right clocks, and nothing in the way. */
async function calm(world: World): Promise<Running> {
  for (const node of world.nodes) {
    node.running?.life.end();
    node.skewMs = 0;
  }
  world.unreadableFor = 0;
  world.executor.reachability = 'well';
  world.advance(LONG_MS);
  const [node] = world.nodes;
  if (node === undefined) throw new Error('a world has a node');
  return world.running(node);
}

/** Every run that has ended is known to have ended, also where its message was lost. */
function checkEnds(world: World, observer: Observer): void {
  const { events } = observer.last;
  const started = new Set(
    events.filter((event) => event.type === 'run.started').map((event) => textIn(event, 'run_id')),
  );
  const ended = new Set(
    events
      .filter((event) => event.type === 'run.settled' || event.type === 'run.closed_absent')
      .map((event) => textIn(event, 'run_id')),
  );
  for (const run of world.executor.runs.values()) {
    if (run.state === 'running' || !started.has(run.run_id)) continue;
    world.figures.hold(
      'P7',
      ended.has(run.run_id),
      () => `${run.run_id} is ${run.state}, and two sweeps did not find out`,
    );
  }
}

/** A result that was kept is the completion of its task, or stands aside where a person finds it. */
function checkJournals(world: World, observer: Observer): void {
  for (const { runId } of world.journaled) {
    const isApplied = observer.last.events.some(
      (event) => event.type === 'task.completed' && textIn(event, 'run_id') === runId,
    );
    const isKept = [...world.folder.values()].some((content) =>
      new TextDecoder().decode(content).includes(`"${runId}"`),
    );
    world.figures.hold(
      'P1',
      isApplied || isKept,
      () => `the result of ${runId} was kept, and is neither applied nor there`,
    );
  }
}

/** Tasks that nobody ended end now, so that what was put off for them is due. */
async function endRows(world: World, { ledger }: Running): Promise<void> {
  for (const number of [0, 1, 2, 3]) {
    const taskId = observedTask(number);
    const loaded = await ledger.rows.load(taskId);
    const row = { ...loaded?.row.value, task_id: taskId, status: 'failed' };
    world.writtenRows.add(taskId);
    await ledger.rows.put([parseTaskRow(JSON.stringify(row))]);
  }
}

/** Answers what is open and lets every task be claimed again, so that each verdict must reach a run, once. */
async function runDown(world: World, { ledger }: Running, observer: Observer): Promise<void> {
  for (const question of await ledger.questions.list({ open: true }))
    await ledger.questions.answer({ questionId: question.question_id, text: `answer ${world.next()}` });
  const claimed = new Set<string>();
  for (let round = 0; round < ROUNDS; round += 1) await claimAll(world, ledger, claimed);
  await observer.look();
  for (const question of await ledger.questions.list()) {
    if (question.answer === null || !claimed.has(question.task_id)) continue;
    world.figures.hold(
      'P12',
      observer.model.isDelivered(question.question_id),
      () => `the verdict of ${question.question_id} reached nobody`,
    );
  }
}

async function claimAll(world: World, ledger: Ledger, claimed: Set<string>): Promise<void> {
  world.advance(LONG_MS);
  for (const taskId of world.taskIds) {
    await ledger.tasks.unblock({ taskId });
    const answer = await ledger.runs.claim({ holder: 'last', taskId });
    if (answer.outcome === 'claimed') claimed.add(taskId);
    const current = (await ledger.tasks.get(taskId))?.current_run_id ?? null;
    if (current !== null) await ledger.runs.reclaim({ taskId, runId: current, reason: 'next' });
  }
}
