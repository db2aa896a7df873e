import type { EndedState, RunGateway, RunLookup, Submission } from '@custody/reconciler';
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

/** The external system that executes runs. It is no part of what is tested: it only answers, or does not. */
export class Executor {
  readonly runs = new Map<string, ExternalRun>();
  readonly runOfKey = new Map<string, string>();
  /** What was truly said of each run: `absent`, or the state in which it ended. */
  readonly said = new Map<string, Set<string>>();
  /** Called with each stop before it is carried out. */
  onStop: (stop: Stop) => Promise<void> = () => Promise.resolve();
  /** Called while a slow answer is on its way. */
  meanwhile: () => Promise<void> = () => Promise.resolve();
  reachability: Reachability = 'well';
  readonly #figures: Figures;

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
      lookup: (run) => life.call('read', () => this.#lookup(run.run_id)),
      cancel: (run) =>
        life.call('read', async () => {
          await this.#reach();
          if (this.reachability === 'garbled') return { outcome: 'unknown', reason: 'no JSON' };
          await this.onStop(run);
          const found = this.runs.get(run.run_id);
          if (found === undefined || found.state === 'gone') return { outcome: 'absent' };
          if (found.state === 'running') found.state = 'cancelled';
          return { outcome: 'accepted', status: 'cancelling' };
        }),
      resubmit: (submission) => life.call('read', () => this.#resubmit(submission)),
    };
  }

  async #lookup(runId: string): Promise<RunLookup> {
    await this.#reach();
    if (this.reachability === 'garbled') return { outcome: 'unknown', reason: 'no JSON' };
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

  async #resubmit(submission: Submission) {
    await this.#reach();
    if (this.reachability === 'garbled') return { outcome: 'unknown', reason: 'no JSON' } as const;
    return { outcome: 'run', run_id: this.submit(submission.invocation_id, submission.task_id) } as const;
  }

  async #reach(): Promise<void> {
    if (this.reachability === 'dead') {
      this.#figures.struck('gateway_dead');
      throw new Error('ECONNREFUSED');
    }
    if (this.reachability === 'garbled') this.#figures.struck('gateway_unknown');
    if (this.reachability !== 'slow') return;
    this.#figures.struck('gateway_slow');
    await this.meanwhile();
  }
}
