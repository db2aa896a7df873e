import type { InvalidEventCode, StoreErrorCode } from '../../errors.ts';
import {
  BusyError,
  InvalidEventError,
  InvalidRowError,
  JournalError,
  RemoteError,
  RowFrozenError,
  StaleEpochError,
  StoreError,
  UsageError,
} from '../../errors.ts';

/** What a server says of a failure. */
export interface ToldFailure {
  readonly code: string;
  readonly message: string;
  readonly hint: string;
  readonly facts: Readonly<Record<string, unknown>>;
}

const STORE_CODES: ReadonlySet<string> = new Set<StoreErrorCode>([
  'store_missing',
  'store_unreadable',
  'store_corrupt',
  'not_a_store',
  'schema_newer',
  'log_unreadable',
]);

const EVENT_CODES: ReadonlySet<string> = new Set<InvalidEventCode>([
  'invalid_event',
  'event_id_conflict',
  'event_too_large',
  'invalid_json',
]);

/** Reads what a body tells of a failure; null if it is none. A refusal that a command answers has no hint. */
export function toldFailure(body: unknown): ToldFailure | null {
  if (!isObject(body)) return null;
  if (isObject(body['error'])) {
    const { code, message, hint, ...facts } = body['error'];
    return { code: String(code), message: String(message), hint: String(hint ?? ''), facts };
  }
  const { outcome, reason, message, hint, ...facts } = body;
  if (outcome !== 'refused' || typeof hint !== 'string' || typeof message !== 'string') return null;
  return { code: String(reason), message, hint, facts };
}

/** The error that the ledger would have thrown here. */
export function toLedgerError(told: ToldFailure): Error {
  const { code, message, hint, facts } = told;
  const options = { hint, facts };
  if (EVENT_CODES.has(code)) return toEventError(told);
  if (STORE_CODES.has(code)) return new StoreError(code as StoreErrorCode, message, options);
  switch (code) {
    case 'invalid_row':
      return new InvalidRowError(message, options);
    case 'row_frozen':
      return new RowFrozenError(String(facts['task_id']), toTexts(facts['fields']));
    case 'busy':
      return new BusyError(message, options);
    case 'stale_epoch':
      return new StaleEpochError(Number(facts['offered'] ?? 0), Number(facts['current'] ?? 0));
    case 'journal_conflict':
      return new JournalError(code, message, options);
    case 'invalid_url':
    case 'invalid_option':
    case 'not_supported':
      return new UsageError(code, message, options);
    case 'internal':
      return new Error(message);
    default:
      return new RemoteError(code, message, options);
  }
}

function toEventError({ code, message, hint, facts }: ToldFailure): InvalidEventError {
  const { field, index, ...rest } = facts;
  return new InvalidEventError(code as InvalidEventCode, message, {
    field: typeof field === 'string' ? field : null,
    index: typeof index === 'number' ? index : 0,
    hint,
    facts: rest,
  });
}

function toTexts(value: unknown): readonly string[] {
  return Array.isArray(value) ? value.map(String) : [];
}

function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
