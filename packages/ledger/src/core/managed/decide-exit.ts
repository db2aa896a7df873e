import type { JsonObject } from '../json.ts';
import type { Decision } from './decision.ts';
import { accept } from './decision.ts';
import { breaker } from './failures.ts';
import type { HolderClaim } from './holder-guard.ts';
import { guardHolder } from './holder-guard.ts';
import type { ManagedTask } from './managed-task.ts';
import type { ManagedScope } from './scope.ts';

/** How the process of a run ended, as whoever started it saw it. */
export type WorkerExit =
  | { readonly kind: 'code'; readonly code: number }
  | { readonly kind: 'signal'; readonly signal: string }
  | { readonly kind: 'unknown' }
  | { readonly kind: 'timed_out'; readonly elapsed_ms: number }
  | { readonly kind: 'spawn_failed'; readonly error: string };

/** What a worker exits with when it may not work now but will later. */
const EX_TEMPFAIL = 75;

/** Clean exits without a word about the task, one after the other, before it is blocked. */
const SILENT_EXIT_LIMIT = 3;

interface Verdict {
  readonly outcome: 'crashed' | 'rate_limited' | 'timed_out' | 'spawn_failed';
  readonly error: string;
  readonly counts: boolean;
  readonly isSilent?: boolean;
}

/** Closes a run whose process ended without a word; a failure counts, a refusal by the provider does not. */
export function decideExit(
  scope: ManagedScope,
  command: HolderClaim & { readonly exit: WorkerExit },
): Decision {
  const held = guardHolder(scope, command);
  if (!held.ok) return held.decision;
  const { task, run, lease } = held;
  const verdict = classify(command.exit, lease.process?.pid ?? null);
  const isSilent = verdict.isSilent === true;
  const failure = { runId: run.run_id, outcome: verdict.outcome, error: verdict.error };
  const forced = isSilent && silentExits(task) + 1 >= (task.max_retries ?? SILENT_EXIT_LIMIT);
  return accept([
    {
      type: 'run.ended',
      task_id: task.task_id,
      run_id: run.run_id,
      outcome: verdict.outcome,
      error: verdict.error,
      counts: verdict.counts,
      exit: { ...(command.exit as JsonObject), ...(isSilent ? { protocol_violation: true } : {}) },
    },
    ...(forced || verdict.counts ? breaker(scope, task, { ...failure, forced }) : []),
  ]);
}

function classify(exit: WorkerExit, pid: number | null): Verdict {
  const who = pid === null ? 'the worker' : `pid ${pid}`;
  switch (exit.kind) {
    case 'code':
      if (exit.code === 0)
        return {
          outcome: 'crashed',
          error: `${who} exited cleanly without a terminal call`,
          counts: false,
          isSilent: true,
        };
      if (exit.code === EX_TEMPFAIL) return { outcome: 'rate_limited', error: 'rate-limited', counts: false };
      return { outcome: 'crashed', error: `${who} exited with code ${exit.code}`, counts: true };
    case 'signal':
      return { outcome: 'crashed', error: `${who} killed by signal ${exit.signal}`, counts: true };
    case 'unknown':
      return { outcome: 'crashed', error: `${who} not alive`, counts: true };
    case 'timed_out':
      return { outcome: 'timed_out', error: `still running after ${exit.elapsed_ms} ms`, counts: true };
    case 'spawn_failed':
      return { outcome: 'spawn_failed', error: exit.error, counts: true };
  }
}

/** Silent exits in a row, newest first; being rate-limited in between neither counts nor breaks the row. */
function silentExits(task: ManagedTask): number {
  let count = 0;
  for (const run of task.runs.toReversed()) {
    if (run.outcome === null || run.outcome === 'rate_limited') continue;
    if (run.metadata?.['protocol_violation'] !== true) return count;
    count += 1;
  }
  return count;
}
