import { fenceArgument, idArgument } from './arguments.ts';

/** The run and the fence that a holder writes under; the fence is the one that its claim gave. */
export interface HeldRun {
  readonly runId: string;
  readonly fence: number;
}

/** @throws UsageError for a malformed run id or fence. */
export function heldRun(run: HeldRun): {
  readonly taskId: null;
  readonly runId: string;
  readonly fence: number;
} {
  return { taskId: null, runId: idArgument('run_id', run.runId), fence: fenceArgument(run.fence) };
}
