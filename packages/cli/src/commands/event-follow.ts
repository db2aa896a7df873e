import { setTimeout as wait } from 'node:timers/promises';
import type { CommandContext } from '../command-context.ts';
import type { ExitCode } from '../exit-code.ts';
import { EXIT } from '../exit-code.ts';
import { withLedger } from '../open-store.ts';
import type { EventFilter } from './event-list.ts';
import { printEvents, toQuery } from './event-list.ts';

/** Options of `event follow`. */
export interface EventFollowOptions extends EventFilter {
  /** Begin after this `seq`; with what is appended from now on when absent. */
  readonly after?: number | undefined;
  /** Between two looks, in milliseconds. */
  readonly interval: number;
}

/** Prints new events as they are appended, until SIGINT, SIGTERM, or nobody reads any more. */
export async function eventFollow(
  context: CommandContext,
  { after, interval, ...filter }: EventFollowOptions,
): Promise<ExitCode> {
  const signal = context.interruption();
  return withLedger(context, 'look', async (ledger) => {
    let seen = after ?? (await ledger.head()).seq;
    while (!signal.aborted && !context.out.isClosed()) {
      const { seq: head } = await ledger.head();
      if (head > seen) {
        await printEvents(context, ledger.read({ ...toQuery({ ...filter, after: seen }), upTo: head }));
        seen = head;
      }
      await wait(interval, undefined, { signal }).catch(() => undefined);
    }
    return EXIT.done;
  });
}
