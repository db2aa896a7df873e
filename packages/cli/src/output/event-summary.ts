import type { JsonObject, JsonValue, RecordedEvent } from '@custody/ledger';
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
  'title',
  'assignee',
  'kind',
  'recurrences',
  'parent_id',
  'child_ids',
  'changed_fields',
  'operator',
  'actor',
  'author',
  'body',
  'note',
  'idempotency_key',
  'failures',
  'replayed',
  'late',
  'expires_at',
  'summary',
  'question_id',
  'text',
  'options',
  'answer',
  'mode',
];

/** What an event says beyond its type, as `field value` pairs; empty when the type says it all. */
export function eventSummary(event: RecordedEvent): string {
  const claim = event['claim'];
  const holder = isObject(claim) ? fieldText(claim, 'holder') : '';
  // Types of others may keep what they say in an object of its own.
  const inner = event['payload'];
  const source = event.type.startsWith('x.') && isObject(inner) ? { ...inner, ...event } : event;
  const pairs = TELLING.flatMap((field) => {
    const text = fieldText(source, field);
    return text === '' ? [] : [`${field} ${text}`];
  });
  if (holder !== '') pairs.unshift(`holder ${holder}`);
  return shortened(printable(pairs.join(', ')), MAX_SUMMARY);
}

function fieldText(event: JsonObject, field: string): string {
  const value = event[field];
  if (value === undefined || value === null || value === '') return '';
  if (Array.isArray(value)) return value.length === 0 ? 'none' : value.map(String).join(' ');
  return typeof value === 'object' ? JSON.stringify(value) : String(value);
}

function isObject(value: JsonValue | undefined): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
