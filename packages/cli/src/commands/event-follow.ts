import { setTimeout as wait } from 'node:timers/promises';
import type { CommandContext } from '../command-context.ts';
import { usageError } from '../errors.ts';
import type { ExitCode } from '../exit-code.ts';
import { EXIT } from '../exit-code.ts';
import { withLedger } from '../open-store.ts';
import type { EventFilter } from './event-list.ts';
import { printEvents, toQuery } from './event-list.ts';

/** Options of `event follow`. */
export interface EventFollowOptions extends EventFilter {
  /** Begin after this `seq`; with what is appended from now on when absent. */
  readonly after?: number | undefined;
  /** Begin this many events before the newest one. */
  readonly last?: number | undefined;
  /** Between two looks, at most, in milliseconds; a commit that is told ends the pause. */
  readonly interval: number;
}

/** Prints new events as they are appended, until SIGINT, SIGTERM, or nobody reads any more. */
export async function eventFollow(
  context: CommandContext,
  { after, last, interval, ...filter }: EventFollowOptions,
): Promise<ExitCode> {
  if (after !== undefined && last !== undefined) {
    throw usageError('--after and --last exclude each other', 'Both say where to begin; give one.', {
      option: '--last',
    });
  }
  const signal = context.interruption();
  return withLedger(context, 'look', async (ledger) => {
    let seen = after ?? Math.max(0, (await ledger.head()).seq - (last ?? 0));
    while (!signal.aborted && !context.out.isClosed()) {
      // Before the look, so that no commit falls between the two.
      const mark = await ledger.commits?.mark();
      const { seq: head } = await ledger.head();
      if (head > seen) {
        await printEvents(context, ledger.read({ ...toQuery({ ...filter, after: seen }), upTo: head }));
        seen = head;
      }
      const pause =
        ledger.commits === null || mark === undefined
          ? wait(interval, undefined, { signal })
          : ledger.commits.after(mark, { signal, atMostMs: interval });
      await pause.catch(() => undefined);
    }
    return EXIT.done;
  });
}
