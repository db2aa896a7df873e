import type { EventQuery, StoredEvent } from '@custody/ledger';
import type { CommandContext } from '../command-context.ts';
import type { ExitCode } from '../exit-code.ts';
import { EXIT } from '../exit-code.ts';
import { withLedger } from '../open-store.ts';
import { eventLine } from '../output/event-line.ts';
import { lineWriter } from '../output/line-writer.ts';

/** Which events to print; conditions are combined with "and". */
export interface EventFilter {
  readonly task?: string | undefined;
  readonly run?: string | undefined;
  readonly type?: string | undefined;
}

/** Options of `event list`. */
export interface EventListOptions extends EventFilter {
  /** Print events after this `seq` only. */
  readonly after?: number | undefined;
  readonly limit?: number | undefined;
}

/** Prints events in the order of `seq`, without holding the history in memory. */
export async function eventList(context: CommandContext, options: EventListOptions): Promise<ExitCode> {
  return withLedger(context, 'look', async (ledger) => {
    await printEvents(context, ledger.read(toQuery(options)));
    return EXIT.done;
  });
}

/** The ledger's form of a filter. */
export function toQuery({ after, limit, task, run, type }: EventListOptions): EventQuery {
  return {
    ...(after === undefined ? {} : { after }),
    ...(limit === undefined ? {} : { limit }),
    ...(task === undefined ? {} : { taskId: task }),
    ...(run === undefined ? {} : { runId: run }),
    ...(type === undefined ? {} : { type }),
  };
}

/** Prints events as they come. */
export async function printEvents(
  context: CommandContext,
  events: AsyncIterable<StoredEvent>,
): Promise<void> {
  const { toPrintedLine } = await import('@custody/ledger');
  const lines = lineWriter(context.out);
  for await (const { event, text } of events) {
    if (context.out.isClosed()) break;
    await lines.write(context.json ? toPrintedLine(text, event.hash) : eventLine(event, context));
  }
  await lines.flush();
}
