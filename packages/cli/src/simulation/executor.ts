import type {
  CancelAnswer,
  EndedState,
  RunGateway,
  RunLookup,
  Submission,
  SubmitAnswer,
} from '@custody/reconciler';
import type { Figures } from './figures.ts';
import type { Life } from './life.ts';

/** How the external system can be reached. */
export type Reachability = 'well' | 'slow' | 'dead' | 'garbled';

/** A run as the external system has it. */
export interface ExternalRun {
  readonly run_id: string;
  readonly task_id: string;
  /** `gone`: the system has lost it, and says so. */
  state: 'running' | EndedState | 'gone';
}

/** What the executor was asked to stop. */
export interface Stop {
  readonly run_id: string;
  readonly task_id: string;
}

/** Of the slow answers, one in so many comes after whoever asked has given up. */
const TOO_LATE = 3;

/** The external system that executes runs. It is no part of what is tested: it only answers, or does not. */
export class Executor {
  readonly runs = new Map<string, ExternalRun>();
  readonly runOfKey = new Map<string, string>();
  /** The run that each intended start became, by the key that its request was noted under. */
  readonly #runOfIntent = new Map<string, string>();
  /** What was truly said of each run: `absent`, or the state in which it ended. */
  readonly said = new Map<string, Set<string>>();
  /** Called with each stop before it is carried out. */
  onStop: (stop: Stop) => Promise<void> = () => Promise.resolve();
  /** Called while a slow answer is on its way. */
  meanwhile: () => Promise<void> = () => Promise.resolve();
  reachability: Reachability = 'well';
  readonly #figures: Figures;
  #slowAnswers = 0;

  constructor(figures: Figures) {
    this.#figures = figures;
  }

  /** Starts the run of a key, once. */
  submit(key: string, taskId: string): string {
    const runId = this.runOfKey.get(key) ?? `run-of-${key}`;
    this.runOfKey.set(key, runId);
    if (!this.runs.has(runId)) this.runs.set(runId, { run_id: runId, task_id: taskId, state: 'running' });
    return runId;
  }

  running(): readonly ExternalRun[] {
    return [...this.runs.values()].filter((run) => run.state === 'running');
  }

  /** The way to the executor from one process. */
  gatewayOf(life: Life): RunGateway {
    return {
      lookup: (run) => life.call('read', () => this.#answer(() => this.#lookup(run.run_id))),
      cancel: (run) => life.call('read', () => this.#answer(() => this.#cancel(run))),
      resubmit: (submission) => life.call('read', () => this.#answer(() => this.#resubmit(submission))),
    };
  }

  #lookup(runId: string): RunLookup {
    const state = this.runs.get(runId)?.state ?? 'gone';
    if (state === 'running') return { outcome: 'live', state };
    const word = state === 'gone' ? 'absent' : state;
    this.said.set(runId, new Set([...(this.said.get(runId) ?? []), word]));
    if (state === 'gone') return { outcome: 'absent' };
    return {
      outcome: 'terminal',
      detail: { state, cost_usd: 1.25, spend_disclosed: true, spend_estimated: false },
    };
  }

  async #cancel(run: Stop): Promise<CancelAnswer> {
    await this.onStop(run);
    const found = this.runs.get(run.run_id);
    if (found === undefined || found.state === 'gone') return { outcome: 'absent' };
    if (found.state === 'running') found.state = 'cancelled';
    return { outcome: 'accepted', status: 'cancelling' };
  }

  #resubmit({ invocation_id: key, task_id: taskId, facts }: Submission): SubmitAnswer {
    const intent = String(facts['idempotency_key'] ?? key);
    const known = this.#runOfIntent.get(intent) ?? this.runOfKey.get(intent);
    const runId = this.submit(key, taskId);
    this.#runOfIntent.set(intent, runId);
    this.#figures.hold(
      'P10',
      known === undefined || known === runId,
      () => `${intent} was started as ${String(known)}, and again as ${runId}`,
    );
    return { outcome: 'run', run_id: runId };
  }

  /** Does what it was asked for and says so, as far as it can be reached. What came too late was done all the same. */
  async #answer<T>(work: () => T | Promise<T>): Promise<T | { outcome: 'unknown'; reason: string }> {
    if (this.reachability === 'dead') {
      this.#figures.struck('gateway_dead');
      throw new Error('ECONNREFUSED');
    }
    if (this.reachability === 'garbled') {
      this.#figures.struck('gateway_unknown');
      return { outcome: 'unknown', reason: 'no JSON' };
    }
    if (this.reachability !== 'slow') return work();
    this.#figures.struck('gateway_slow');
    this.#slowAnswers += 1;
    const isTooLate = this.#slowAnswers % TOO_LATE === 0;
    await this.meanwhile();
    const answer = await work();
    if (isTooLate) throw new Error('no answer in time');
    return answer;
  }
}
