import type { EventStore } from '../../ports/event-store.ts';
import { readHead, sqlEventStore } from '../sql/sql-event-store.ts';
import { appendToLog } from './append-log.ts';
import type { JsonlContext } from './jsonl-context.ts';

/** The log in files, read through the index. */
export function jsonlEventStore(context: JsonlContext): EventStore {
  const { index, clock, newId } = context;
  return {
    append: (requests) => appendToLog(context, { requests: async () => requests }),
    async *read(query) {
      const tables = await index.readStrictly(async (found) => found);
      yield* sqlEventStore(tables, clock, newId).read(query);
    },
    head: () => index.readStrictly((tables) => readHead(tables.reader, tables.ledger)),
  };
}
