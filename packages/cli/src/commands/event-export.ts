import type { CommandContext } from '../command-context.ts';
import type { ExitCode } from '../exit-code.ts';
import { eventList } from './event-list.ts';

/** Prints every event as a line of JSON, byte for byte as it is chained, whoever reads. */
export function eventExport(context: CommandContext): Promise<ExitCode> {
  return eventList({ ...context, json: true }, {});
}
