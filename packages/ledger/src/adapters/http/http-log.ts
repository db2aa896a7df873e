import type { AppendRequest } from '../../core/append-plan.ts';
import type { AppendResult } from '../../core/append-result.ts';
import { toAppendResult } from '../../core/append-result.ts';
import type { EventWriter } from '../../core/parse-event.ts';
import { parseNewEvent } from '../../core/parse-event.ts';
import type { NewEvent, StoredEvent } from '../../core/recorded-event.ts';
import { splitPrintedLine, toPrintedLine } from '../../core/recorded-event.ts';
import { RemoteError } from '../../errors.ts';
import type { EventQuery } from '../../ports/event-store.ts';
import type { HttpChannel } from './http-channel.ts';

/**
 * Appends events. Each has an id before the first attempt, so that one whose answer was lost is taken once; those
 * that got their id here are new for sure, and are counted so.
 *
 * @throws InvalidEventError
 */
export async function appendOverHttp(
  channel: HttpChannel,
  events: readonly NewEvent[],
  writer: EventWriter,
): Promise<AppendResult> {
  // What is no JSON would change its meaning on the way, so events are judged here too.
  const parsed = events.map((event, index) => parseNewEvent(event, index, writer));
  const path = writer === 'ledger' ? '/ports/events' : '/events';
  const body = { events: parsed.map((event) => withId(channel, event)) };
  const answer = await channel.ask({ method: 'POST', path, body, writes: true });
  return asFirstTold(answer.body as AppendResult, parsed);
}

/** Appends events that another log accepted already. */
export async function appendAcceptedOverHttp(
  channel: HttpChannel,
  { events, exact }: Omit<AppendRequest, 'accepted'>,
): Promise<AppendResult> {
  const body = {
    events: events.map((event) => withId(channel, event)),
    ...(exact === undefined
      ? {}
      : { exact: exact.map(({ text, event }) => toPrintedLine(text, event.hash)) }),
  };
  const answer = await channel.ask({ method: 'POST', path: '/ports/events/accepted', body, writes: true });
  return asFirstTold(answer.body as AppendResult, events);
}

function withId(channel: HttpChannel, event: NewEvent): NewEvent {
  return event.id === undefined ? { ...event, id: channel.newId() } : event;
}

function asFirstTold(result: AppendResult, given: readonly NewEvent[]): AppendResult {
  return toAppendResult(
    result.events.map((placed, index) =>
      placed.duplicate && given[index]?.id === undefined ? { ...placed, duplicate: false } : placed,
    ),
  );
}

/** Events of an answer that is long enough to have been overtaken by others. */
const PAGE = 1000;

/** Streams events. A connection that is cut is opened again behind the last event that came. */
export async function* readOverHttp(
  channel: HttpChannel,
  { after = 0, upTo, taskId, runId, type, limit }: EventQuery,
): AsyncGenerator<StoredEvent, void> {
  let seen = after;
  let left = limit;
  for (;;) {
    const before = seen;
    let count = 0;
    const query = { after: seen, up_to: upTo, task_id: taskId, run_id: runId, type, limit: left };
    try {
      for await (const line of channel.lines({ path: '/events', query })) {
        const stored = toStored(line);
        seen = stored.event.seq;
        count += 1;
        if (left !== undefined) left -= 1;
        yield stored;
      }
      // What was appended while a long answer was on its way is read as well, as in every other store.
      if (count < PAGE) return;
    } catch (error) {
      const isCut = error instanceof RemoteError && error.code === 'store_unreachable';
      if (!isCut || seen === before) throw error;
    }
  }
}

function toStored(line: string): StoredEvent {
  const parts = splitPrintedLine(line);
  if (parts === null) throw new Error('the server printed an event without its hash');
  return { event: JSON.parse(line) as StoredEvent['event'], text: parts.text };
}
