import type { HttpChannel } from '../adapters/http/http-channel.ts';
import { findLimitFault } from '../core/event-limits.ts';
import { InvalidEventError } from '../errors.ts';
import { idArgument } from '../shell/arguments.ts';
import { snakeKeys } from './snake-keys.ts';

/** Sends a command, and brings back what it answered: also a "no". */
export type Send = <Answer>(path: string, args?: object) => Promise<Answer>;

/**
 * Commands of one handle. Each gets a request id before its first attempt; `requestId` is the caller's own, of
 * {@link Ledger.once}.
 */
export function sender(channel: HttpChannel, requestId: string | null): Send {
  return async <Answer>(path: string, args?: object) => {
    refuseWhatIsNoJson(args);
    const { body } = await channel.ask({
      method: 'POST',
      path,
      requestId: requestId ?? channel.newId(),
      writes: true,
      ...(args === undefined ? {} : { body: snakeKeys(args) }),
    });
    return body as Answer;
  };
}

/** @throws InvalidEventError for a value that would change its meaning on the way; no event could hold it either. */
function refuseWhatIsNoJson(args: object | undefined): void {
  const fault = findLimitFault(args);
  if (fault === null) return;
  throw new InvalidEventError('invalid_event', `${fault.field} ${fault.problem}`, {
    field: fault.field,
    index: 0,
  });
}

/** The path of a command on a task. @throws UsageError for a malformed id. */
export function taskPath(taskId: string, verb: string): string {
  return `/tasks/${idArgument('task_id', taskId)}/${verb}`;
}

/** The path of a command of a run. @throws UsageError for a malformed id. */
export function runPath(runId: string, verb: string): string {
  return `/runs/${idArgument('run_id', runId)}/${verb}`;
}
