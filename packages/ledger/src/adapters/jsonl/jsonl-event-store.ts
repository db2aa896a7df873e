import type { EventStore } from '../../ports/event-store.ts';
import { readHead } from '../sql/read-head.ts';
import { readEvents } from '../sql/sql-event-store.ts';
import { appendToLog } from './append-log.ts';
import type { JsonlContext } from './jsonl-context.ts';

/** The log in files, read through the index. */
export function jsonlEventStore(context: JsonlContext): EventStore {
  const { index } = context;
  return {
    append: (requests) => appendToLog(context, { requests: async () => requests }),
    async *read(query) {
      const tables = await index.readStrictly(async (found) => found);
      yield* readEvents(tables, query);
    },
    head: () => index.readStrictly((tables) => readHead(tables.reader, tables.ledger)),
  };
}
