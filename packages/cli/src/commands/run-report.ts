import type { CommandContext } from '../command-context.ts';
import type { ExitCode } from '../exit-code.ts';
import { withManagedLedger } from '../open-managed.ts';
import { printAnswer } from '../output/answer.ts';
import { printable, valueText } from '../output/printable.ts';

/** The run that writes, and the fence that its claim gave. */
interface OfRun {
  readonly run: string;
  readonly fence: number;
}

/** Options of `run heartbeat`. */
export interface RunHeartbeatOptions extends OfRun {
  /** Another span from now on, in milliseconds. */
  readonly ttl?: number | undefined;
}

/** A sign of life. */
export async function runHeartbeat(context: CommandContext, options: RunHeartbeatOptions): Promise<ExitCode> {
  const { run: runId, fence, ttl } = options;
  return withManagedLedger(context, { ids: { '--run': runId } }, async (ledger) => {
    const answer = await ledger.runs.heartbeat({
      runId,
      fence,
      ...(ttl === undefined ? {} : { ttlMs: ttl }),
    });
    return printAnswer(context, answer, ({ expires_at }) => `extended until ${expires_at}`);
  });
}

/** Options of `run push`. */
export interface RunPushOptions extends OfRun {
  readonly state: string;
  readonly note?: string | undefined;
}

/** Reports a state; a sign of life as well. */
export async function runPush(context: CommandContext, options: RunPushOptions): Promise<ExitCode> {
  const { run: runId, fence, state, note } = options;
  return withManagedLedger(context, { ids: { '--run': runId } }, async (ledger) => {
    const answer = await ledger.runs.push({ runId, fence, state, note: note ?? null });
    return printAnswer(context, answer, () => `recorded ${printable(state)}`);
  });
}

/** Options of `run refresh`. */
export interface RunRefreshOptions {
  readonly run: string;
  readonly holder: string;
}

/** Tells the holder of a run its current fence. */
export async function runRefresh(context: CommandContext, options: RunRefreshOptions): Promise<ExitCode> {
  const { run: runId, holder } = options;
  return withManagedLedger(context, { ids: { '--run': runId } }, async (ledger) =>
    printAnswer(
      context,
      await ledger.runs.refresh({ runId, holder }),
      ({ fence, expires_at }) => `fence ${fence}, until ${expires_at}`,
    ),
  );
}

/** Options of `run submit`. */
export interface RunSubmitOptions extends OfRun {
  readonly task: string;
  readonly key: string;
  readonly value: string;
}

/** Hands in the outcome of a step exactly once; the same key answers what was stored. */
export async function runSubmit(context: CommandContext, options: RunSubmitOptions): Promise<ExitCode> {
  const { task: taskId, run: runId, fence, key, value } = options;
  return withManagedLedger(context, { ids: { '--task': taskId, '--run': runId } }, async (ledger) => {
    const answer = await ledger.runs.submit({ taskId, runId, fence, idempotencyKey: key, value });
    return printAnswer(context, answer, (stored) =>
      stored.replayed
        ? `was applied already: ${valueText(stored.value)}`
        : `applied: ${valueText(stored.value)}`,
    );
  });
}
