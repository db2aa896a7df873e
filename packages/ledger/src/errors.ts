/** The base of everything this package throws on purpose. Match on `code`: it survives JSON and a second copy of the package. */
export abstract class LedgerError extends Error {
  abstract readonly code: string;
  /** What the operator can do now. */
  readonly hint: string;
  /** The facts of the case, as printed in the CLI's `error` object. */
  readonly facts: Readonly<Record<string, unknown>>;

  constructor(
    message: string,
    options: { hint: string; facts?: Readonly<Record<string, unknown>>; cause?: unknown },
  ) {
    super(message, options.cause === undefined ? undefined : { cause: options.cause });
    this.hint = options.hint;
    this.facts = options.facts ?? {};
  }
}

/** Why an event was refused, as printed in `error.code`. */
export type InvalidEventCode = 'invalid_event' | 'event_id_conflict' | 'event_too_large' | 'invalid_json';

/** An event that can't be taken. Nothing of its batch was written. */
export class InvalidEventError extends LedgerError {
  override readonly name = 'InvalidEventError';
  readonly code: InvalidEventCode;
  /** The field that is wrong, as a path (`payload.items.0`); null when the whole event is. */
  readonly field: string | null;
  /** Position in the batch, from 0. */
  readonly index: number;

  constructor(
    code: InvalidEventCode,
    message: string,
    place: { field: string | null; index: number; hint?: string; facts?: Readonly<Record<string, unknown>> },
  ) {
    super(message, {
      hint: place.hint ?? 'Correct the event and append it again; nothing of this batch was written.',
      facts: { ...place.facts, field: place.field, index: place.index },
    });
    this.code = code;
    this.field = place.field;
    this.index = place.index;
  }
}

/** A task row that can't be taken or read. */
export class InvalidRowError extends LedgerError {
  override readonly name = 'InvalidRowError';
  readonly code = 'invalid_row';
}

/** A write to a terminal row that would change what is frozen. */
export class RowFrozenError extends LedgerError {
  override readonly name = 'RowFrozenError';
  readonly code = 'row_frozen';
  readonly taskId: string;
  readonly fields: readonly string[];

  constructor(taskId: string, fields: readonly string[]) {
    super(`task ${taskId} is terminal: ${fields.join(', ')} can no longer change`, {
      hint: 'A terminal row takes only its own status and new fields.',
      facts: { task_id: taskId, fields },
    });
    this.taskId = taskId;
    this.fields = fields;
  }
}

/** Why a store can't be used, as printed in `error.code`. */
export type StoreErrorCode =
  | 'store_missing'
  | 'store_unreadable'
  | 'store_corrupt'
  | 'not_a_store'
  | 'schema_newer'
  | 'log_unreadable';

/** The store is missing, unreadable, of a newer schema, or no store at all. */
export class StoreError extends LedgerError {
  override readonly name = 'StoreError';
  readonly code: StoreErrorCode;

  constructor(
    code: StoreErrorCode,
    message: string,
    options: { hint: string; facts?: Readonly<Record<string, unknown>>; cause?: unknown },
  ) {
    super(message, options);
    this.code = code;
  }
}

/** Somebody else holds the lock; trying again is right. */
export class BusyError extends LedgerError {
  override readonly name = 'BusyError';
  readonly code = 'busy';
}

/** Another writer has taken the ledger over: this handle belongs to an older epoch, and wrote nothing. */
export class StaleEpochError extends LedgerError {
  override readonly name = 'StaleEpochError';
  readonly code = 'stale_epoch';
  /** The epoch of this handle. */
  readonly offered: number;
  /** The ledger's. */
  readonly current: number;

  constructor(offered: number, current: number) {
    super(`another writer has taken over the ledger: its epoch is ${current}, this writer's is ${offered}`, {
      hint: 'Stop this writer; one that is to write now opens the ledger anew.',
      facts: { offered, current },
    });
    this.offered = offered;
    this.current = current;
  }
}

/** An argument that no store can make sense of (a URL, an option). */
export class UsageError extends LedgerError {
  override readonly name = 'UsageError';
  readonly code: 'invalid_url' | 'invalid_option' | 'not_supported';

  constructor(
    code: 'invalid_url' | 'invalid_option' | 'not_supported',
    message: string,
    options: { hint: string; facts?: Readonly<Record<string, unknown>>; cause?: unknown },
  ) {
    super(message, options);
    this.code = code;
  }
}

/** A journal that can't take a result. */
export class JournalError extends LedgerError {
  override readonly name = 'JournalError';
  readonly code: 'journal_conflict';

  constructor(
    code: 'journal_conflict',
    message: string,
    options: { hint: string; facts?: Readonly<Record<string, unknown>>; cause?: unknown },
  ) {
    super(message, options);
    this.code = code;
  }
}

/** Why a checkpoint or its key can't be used, as printed in `error.code`. */
export type CheckpointErrorCode = 'invalid_key' | 'invalid_checkpoint';

/** A key or a checkpoint that is none. What a good one says of the log is a finding of `verify`. */
export class CheckpointError extends LedgerError {
  override readonly name = 'CheckpointError';
  readonly code: CheckpointErrorCode;

  constructor(
    code: CheckpointErrorCode,
    message: string,
    options: { hint: string; facts?: Readonly<Record<string, unknown>>; cause?: unknown },
  ) {
    super(message, options);
    this.code = code;
  }
}

/** What only a served ledger can answer, or nobody does. A server may know more codes than this client. */
export type RemoteErrorCode = 'store_unreachable' | 'read_only' | 'unauthorized' | 'forbidden';

/** A failure of a ledger that another process serves, which is none of the ledger itself. */
export class RemoteError extends LedgerError {
  override readonly name = 'RemoteError';
  readonly code: RemoteErrorCode | (string & {});

  constructor(
    code: RemoteErrorCode | (string & {}),
    message: string,
    options: { hint: string; facts?: Readonly<Record<string, unknown>>; cause?: unknown },
  ) {
    super(message, options);
    this.code = code;
  }
}
