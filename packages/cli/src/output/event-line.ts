import type { RecordedEvent } from '@custody/ledger';
import type { CommandContext } from '../command-context.ts';
import { eventSummary } from './event-summary.ts';
import { printable } from './printable.ts';

/** One event as one line for people: place, time, kind, and what it says. */
export function eventLine(event: RecordedEvent, { paint }: Pick<CommandContext, 'paint'>): string {
  const owner = [event['task_id'], event['run_id']]
    .filter((id) => typeof id === 'string' && id !== '')
    .join(' ');
  const parts = [
    paint.dim(String(event.seq).padStart(6)),
    event.at,
    paint.bold(printable(event.type)),
    printable(owner),
    eventSummary(event),
  ];
  return parts.filter((part) => part !== '').join('  ');
}
