import { expect } from 'vitest';
import type { CliBench } from './cli.ts';
import { cliBench, toLines } from './cli.ts';

/** Events of one task: a pending invocation, a settled run with a patch, an open run, and a note. */
export const EVENTS = toLines(
  {
    type: 'run.start_requested',
    id: 'e-1',
    task_id: 't-1',
    invocation_id: 'inv-1',
    request: { prompt: 'x' },
  },
  { type: 'run.started', id: 'e-2', task_id: 't-1', run_id: 'run-1', snapshot_id: 'snap-1', model: 'm-1' },
  { type: 'run.started', id: 'e-3', task_id: 't-1', run_id: 'run-2' },
  {
    type: 'run.settled',
    id: 'e-4',
    run_id: 'run-1',
    state: 'succeeded',
    cost_usd: 1.25,
    spend_disclosed: true,
  },
  { type: 'x.note', id: 'e-5', text: 'kept, never folded' },
);

const ROWS = toLines(
  {
    task_id: 't-1',
    status: 'failed',
    reason_code: 'provider_unavailable',
    delegated_runs_started: 2,
    delegated_runs_settled: 0,
    actual_substrate: 'harness_attempted',
    delegated_runs_unreconciled: ['run-1', 'run-2'],
  },
  { task_id: 't-2', status: 'running' },
);

/** A store with one task whose row lies and one that runs. */
export async function filledStore(): Promise<CliBench> {
  const bench = cliBench();
  expect((await bench.run(['event', 'append'], { stdin: EVENTS })).code).toBe(0);
  expect((await bench.run(['task', 'put'], { stdin: ROWS })).code).toBe(0);
  return bench;
}
