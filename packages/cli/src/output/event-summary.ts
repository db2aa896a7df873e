import type { JsonObject, RecordedEvent } from '@custody/ledger';
import { printable, shortened } from './printable.ts';

/** A summary stays on one line of a terminal. */
const MAX_SUMMARY = 160;

/** The fields that tell most about an event, in the order in which they are read. */
const TELLING: readonly string[] = [
  'state',
  'disposition',
  'action',
  'outcome',
  'status',
  'definite',
  'reason',
  'outcome_reason',
  'cost_usd',
  'model',
  'route',
  'invocation_id',
  'snapshot_id',
  'project_id',
  'artifact',
  'trigger',
  'run_ids',
  'detail',
];

/** What an event says beyond its type, as `field value` pairs; empty when the type says it all. */
export function eventSummary(event: RecordedEvent): string {
  const pairs = TELLING.flatMap((field) => {
    const text = fieldText(event, field);
    return text === '' ? [] : [`${field} ${text}`];
  });
  return shortened(printable(pairs.join(', ')), MAX_SUMMARY);
}

function fieldText(event: JsonObject, field: string): string {
  const value = event[field];
  if (value === undefined || value === null || value === '') return '';
  if (Array.isArray(value)) return value.length === 0 ? 'none' : value.map(String).join(' ');
  return typeof value === 'object' ? JSON.stringify(value) : String(value);
}
