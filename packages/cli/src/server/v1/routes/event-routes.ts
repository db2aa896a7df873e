import type { AppendResult, EventQuery, NewEvent as LedgerEvent, StoredEvent } from '@custody/ledger';
import { InvalidEventError, splitPrintedLine, toPrintedLine } from '@custody/ledger';
import { z } from 'zod';
import { camelKeys } from '../camel-keys.ts';
import { parseJsonLines } from '../parse-lines.ts';
import type { Reply, Route } from '../route.ts';
import { route } from '../route.ts';
import { Appended, Event, Head, ok, stream } from '../schemas/answers.ts';
import { Accepted, NewEvent } from '../schemas/requests.ts';
import { id, queryFlag, queryNumber, queryWait, text } from '../schemas/values.ts';
import { followEvents, waitForEvent } from '../wait-for-events.ts';
import { within } from '../within.ts';

const filter = {
  task_id: id.optional(),
  run_id: id.optional(),
  type: text.optional(),
};

/** The log. */
export const EVENT_ROUTES: readonly Route[] = [
  route({
    method: 'post',
    tag: 'events',
    use: 'write',
    path: '/events',
    summary:
      'Append events, all or none. An event with a known id and the same content is a counted duplicate.',
    body: z.union([z.strictObject({ events: z.array(NewEvent) }), z.string()]),
    bodyLines: { line: NewEvent },
    answers: {
      200: ok(Appended, 'Every event was there already.'),
      201: ok(Appended, 'Appended.'),
    },
    handle: async ({ body, ledger }) => {
      const result =
        typeof body === 'string'
          ? await appendLines(body, (events) => ledger.append(events))
          : await ledger.append(body.events);
      return appended(result);
    },
  }),
  route({
    method: 'get',
    tag: 'events',
    use: 'read',
    path: '/events',
    summary:
      'Read events in the order of the log. `wait`: if there is none, wait for one. `follow`: go on for ever.',
    query: z.strictObject({
      ...filter,
      after: queryNumber.optional(),
      up_to: queryNumber.optional(),
      limit: queryNumber.optional(),
      wait: queryWait.optional(),
      follow: queryFlag.optional(),
    }),
    answers: { 200: stream(Event, 'An event a line, with the exact text that its hash covers.') },
    handle: async ({ query: { wait, follow, ...asked }, ledger, signal }) => {
      const query: EventQuery = camelKeys(asked);
      if (follow === true) {
        const after = query.after ?? (await ledger.head()).seq;
        return { lines: printed(followEvents(ledger, { ...query, after }, signal)), mayBeSilent: true };
      }
      if (wait !== undefined) await within(wait, signal, (until) => waitForEvent(ledger, query, until));
      return { lines: printed(ledger.read(query)) };
    },
  }),
  route({
    method: 'get',
    tag: 'events',
    use: 'read',
    path: '/head',
    summary: 'Say where the log stands.',
    answers: { 200: ok(Head) },
    handle: async ({ ledger }) => ({ value: await ledger.head() }),
  }),
  route({
    method: 'post',
    tag: 'ports',
    use: 'write',
    path: '/ports/events',
    summary: 'Append events that only the ledger and its reconcilers write.',
    body: z.strictObject({ events: z.array(NewEvent) }),
    answers: { 200: ok(Appended), 201: ok(Appended, 'Appended.') },
    handle: async ({ body: { events }, ledger }) =>
      appended(await ledger.append(events, { writer: 'ledger' })),
  }),
  route({
    method: 'post',
    tag: 'ports',
    use: 'write',
    path: '/ports/events/accepted',
    summary: 'Append events that another log accepted already, as an import does.',
    body: Accepted,
    answers: { 200: ok(Appended), 201: ok(Appended, 'Appended.') },
    handle: async ({ body: { events, exact }, ledger }) => {
      const result = await ledger.appendAccepted({
        events,
        ...(exact === undefined ? {} : { exact: exact.map(toStored) }),
      });
      return appended(result);
    },
  }),
];

function appended(result: AppendResult): Reply {
  return { value: result, status: result.appended > 0 ? 201 : 200 };
}

async function* printed(events: AsyncIterable<StoredEvent>): AsyncGenerator<string> {
  for await (const { event, text: line } of events) yield `${toPrintedLine(line, event.hash)}\n`;
}

function toStored(line: string, index: number): StoredEvent {
  const parts = splitPrintedLine(line);
  if (parts === null)
    throw new InvalidEventError('invalid_event', 'an exact event ends in its hash', {
      field: 'exact',
      index,
    });
  return { event: JSON.parse(line) as StoredEvent['event'], text: parts.text };
}

/** Appends JSON Lines; what is wrong is told with its line. */
async function appendLines<Result>(
  body: string,
  append: (events: readonly LedgerEvent[]) => Promise<Result>,
): Promise<Result> {
  const lines = parseJsonLines(body);
  const events = lines.map(({ value }) => value as LedgerEvent);
  try {
    return await append(events);
  } catch (error) {
    if (!(error instanceof InvalidEventError)) throw error;
    throw new InvalidEventError(error.code, error.message, {
      field: error.field,
      index: error.index,
      hint: error.hint,
      facts: { ...error.facts, line: lines[error.index]?.line ?? null },
    });
  }
}
