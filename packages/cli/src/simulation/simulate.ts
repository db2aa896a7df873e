import { createHash } from 'node:crypto';
import type { LedgerError } from '@custody/ledger';
import { StaleEpochError } from '@custody/ledger';
import type { Owed } from './check-pass.ts';
import { checkPass, checkSelection, createOwed } from './check-pass.ts';
import { Figures } from './figures.ts';
import { isInjected } from './life.ts';
import * as observed from './observed-steps.ts';
import { Observer } from './observer.ts';
import type { Oracle } from './oracle.ts';
import { foldOracle } from './oracle.ts';
import type { PassOutcome } from './pass-steps.ts';
import type { Place } from './place.ts';
import type { PromiseName } from './promise-broken.ts';
import { PromiseBroken } from './promise-broken.ts';
import { settleDown } from './settle-down.ts';
import type { Step } from './step.ts';
import { printStep } from './step.ts';
import { takeStep } from './take-step.ts';
import type { Node, Seams } from './world.ts';
import { World } from './world.ts';

/** How a history is played. */
export interface SimulationOptions {
  readonly steps: readonly Step[];
  readonly openPlace: (newId: () => string) => Place;
  /** @default the ledger's own fold, from nothing */
  readonly oracle?: Oracle;
  readonly seams?: Seams;
}

/** What broke a promise, and where. */
export interface Failure {
  /** `error`: something was thrown that nobody meant to throw. */
  readonly promise: PromiseName | 'error';
  readonly message: string;
  /** Position of the step, from 0; the number of steps when it happened while things were set right in the end. */
  readonly step: number;
}

/** What became of a history. */
export interface SimulationResult {
  readonly failure: Failure | null;
  readonly figures: Figures;
  /** What every step came to, a line each. */
  readonly trace: readonly string[];
  /** Over the trace and the log: the same steps give the same hash. */
  readonly hash: string;
}

/** Plays a history and checks every promise after each of its steps. */
export async function simulate(options: SimulationOptions): Promise<SimulationResult> {
  const figures = new Figures();
  let ids = 0;
  const place = options.openPlace(() => {
    ids += 1;
    return `place-${ids}`;
  });
  const world = new World({ place, figures, seams: options.seams ?? {} });
  const run = new Run(world, options.oracle ?? foldOracle);
  try {
    const failure = await run.play(options.steps);
    return { failure, figures, trace: run.trace, hash: run.hash() };
  } finally {
    for (const node of world.nodes) node.running?.life.end();
    await place.dispose();
  }
}

/** One play of a history. */
class Run {
  readonly trace: string[] = [];
  readonly #world: World;
  readonly #observer: Observer;
  readonly #owed: Owed = createOwed();
  #at = 0;

  constructor(world: World, oracle: Oracle) {
    this.#world = world;
    this.#observer = new Observer(world, oracle);
    world.executor.onStop = (stop) => this.#checkStop(stop.run_id, stop.task_id);
    world.executor.meanwhile = () => this.#meanwhile();
  }

  hash(): string {
    return createHash('sha256').update(this.trace.join('\n')).digest('hex');
  }

  async play(steps: readonly Step[]): Promise<Failure | null> {
    try {
      await this.#observer.look();
      while (this.#at < steps.length) await this.#playNext(steps);
      await settleDown(this.#world, this.#observer, this.#owed);
      return this.#broken(this.#world.figures.broken);
    } catch (thrown) {
      const error: unknown = this.#world.figures.broken ?? thrown;
      if (error instanceof PromiseBroken) return this.#broken(error);
      const message = error instanceof Error ? (error.stack ?? error.message) : String(error);
      return { promise: 'error', message, step: this.#at };
    }
  }

  #broken(error: PromiseBroken | null): Failure | null {
    return error === null ? null : { promise: error.promise, message: error.message, step: this.#at };
  }

  /** Takes the next step, with those that begin before it has ended. */
  async #playNext(steps: readonly Step[]): Promise<void> {
    const group: Step[] = [];
    do {
      const step = steps[this.#at + group.length];
      if (step === undefined) break;
      group.push(step);
    } while (group.at(-1)?.together === true && group.length < 3);
    const [first] = group;
    if (first === undefined) return;
    if (this.#world.unreadableFor > 0) this.#world.unreadableFor -= 1;
    if (group.length === 1) await this.#alone(first);
    else await this.#beside(group);
    if (this.#world.figures.broken !== null) throw this.#world.figures.broken;
    this.#at += group.length;
  }

  async #alone(step: Step): Promise<void> {
    const before = this.#observer.last;
    const { disturbances } = this.#world;
    const stale = this.#staleReason(step);
    const { said, done, isQuiet } = await this.#perform(step);
    const seen = await this.#observer.look();
    const isSame =
      seen.events.length === before.events.length &&
      [...seen.rows].every(([id, row]) => row.version === before.rows.get(id)?.version);
    const isAlone = disturbances === this.#world.disturbances;
    if (isQuiet && isAlone)
      this.#world.figures.hold(
        'P14',
        isSame,
        () => `${step.kind} was refused (${said}) and changed something`,
      );
    if (stale !== null && isAlone)
      this.#world.figures.hold('P9', isSame, () => `${step.kind} under ${stale} wrote: ${said}`);
    await checkPass({ world: this.#world, observer: this.#observer, owed: this.#owed, done });
    this.#note(step, said);
  }

  async #beside(group: readonly Step[]): Promise<void> {
    const outcomes = await Promise.all(group.map((step) => this.#perform(step)));
    await this.#observer.look();
    for (const [index, step] of group.entries()) this.#note(step, outcomes[index]?.said ?? '');
    await checkPass({ world: this.#world, observer: this.#observer, owed: this.#owed, done: null });
    await checkSelection(this.#world, this.#observer);
  }

  #note(step: Step, said: string): void {
    const head = this.#observer.last.events.at(-1);
    this.trace.push(
      `${this.trace.length} ${printStep(step)} -> ${said} [${head?.seq ?? 0} ${head?.hash.slice(0, 8) ?? ''}]`,
    );
  }

  /** Whether whatever the node writes now must be refused, and why. */
  #staleReason(step: Step): string | null {
    const running = this.#world.nodes[step.node]?.running ?? null;
    if (running === null || running.life.hasEnded() || running.epoch === this.#observer.last.epoch)
      return null;
    return ['journal', 'restart'].includes(step.kind) ? null : `epoch ${running.epoch}`;
  }

  /** `isQuiet`: what was asked for was refused, so that nothing may have changed. */
  async #perform(step: Step): Promise<PassOutcome & { readonly isQuiet: boolean }> {
    const world = this.#world;
    const node = world.nodes[step.node] as Node;
    const running = await world.running(node);
    running.life.arm(step.strike, step.c);
    try {
      const outcome = await Promise.race([
        takeStep({ world, node, running }, step),
        running.life.died.then(() => ({ said: 'the process ended', done: null })),
      ]);
      return { ...outcome, isQuiet: /^(refused|none)\b/.test(outcome.said) };
    } catch (error) {
      return this.#afterError(step, error);
    } finally {
      running.life.disarm();
      if (running.life.hasEnded()) await running.life.stillness();
    }
  }

  #afterError(step: Step, error: unknown): PassOutcome & { readonly isQuiet: boolean } {
    const isPass = ['sweep', 'backfill', 'clear', 'planned'].includes(step.kind);
    if (isInjected(error)) return { said: (error as LedgerError).code, done: null, isQuiet: !isPass };
    if (error instanceof StaleEpochError) return { said: 'stale_epoch', done: null, isQuiet: true };
    throw error;
  }

  /** Nobody but who meant a task to end may have its runs stopped. */
  async #checkStop(runId: string, taskId: string): Promise<void> {
    const loaded = await (await this.#observer.eyes()).rows.load(taskId);
    const value = loaded?.row.value ?? {};
    const execution = (value['outcome_axes'] as { execution?: { status?: string } } | undefined)?.execution
      ?.status;
    const isMeant =
      value['outcome_axes'] === undefined
        ? ['failed', 'cancelled'].includes(String(value['status']))
        : ['failed', 'completed', 'cancelled', 'rejected_duplicate'].includes(String(value['status'])) &&
          ['ok', 'degraded', 'best_effort', 'failed', 'cancelled'].includes(String(execution));
    this.#world.figures.hold('P16', isMeant, () => `${runId} was stopped, and nobody meant ${taskId} to end`);
  }

  /** While the executor takes its time, something else happens. */
  async #meanwhile(): Promise<void> {
    const world = this.#world;
    const message = world.outbox[0];
    const node = world.nodes.find((item) => item.running !== null && !item.running.life.hasEnded());
    if (message === undefined || node === undefined) return;
    const running = await world.running(node);
    if (running.life.isArmed) return;
    world.disturbances += 1;
    await observed.send(world, running, message).catch((error: unknown) => {
      if (!(error instanceof StaleEpochError)) throw error;
    });
  }
}
