import type { RunRecord } from './run-record.ts';

/** What `verify` notes of a run whose later verdict differs from the first: it is in the log, and never applied. */
export function conflictingVerdictsOf({ run_id, task_id }: Pick<RunRecord, 'run_id' | 'task_id'>) {
  return {
    code: 'conflicting_verdicts',
    message: `run ${run_id} was settled again with another state; the first one stands`,
    ...(task_id === '' ? {} : { task_id }),
  };
}
