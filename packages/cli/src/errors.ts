/** Why the command line could not do what it was asked, as printed in `error.code`. */
export type CliErrorCode =
  | 'usage'
  /** A file or stream that was named as input can't be read. */
  | 'input_unreadable'
  | 'invalid_json'
  | 'invalid_event'
  | 'event_id_conflict'
  | 'event_too_large'
  | 'invalid_row'
  | 'busy'
  /** A row that the store holds can't be read. */
  | 'row_unreadable'
  /** The store keeps no managed tasks. */
  | 'not_supported'
  /** The folder of journals can't be read or written. */
  | 'journal_unusable'
  /** A node that is fenced is not started. */
  | 'node_fenced'
  /** A node that takes no writes: a replica, or one that is fenced. */
  | 'read_only'
  /** The address to listen on is taken, or not ours. */
  | 'listen_failed'
  /** The state folder of a served ledger is not there, or can't be read. */
  | 'state_unreadable'
  /** The file of tokens can't be used. */
  | 'token_file_unusable'
  /** Results can't be written where they should go. */
  | 'output_failed';

/** What an error needs besides its message. */
export interface CliErrorDetails {
  readonly hint: string;
  /** Printed beside code, message and hint. */
  readonly facts?: Readonly<Record<string, unknown>>;
  readonly cause?: unknown;
}

/** Everything that this package throws on purpose. */
export class CliError extends Error {
  override readonly name = 'CliError';
  readonly code: CliErrorCode;
  /** What the caller can do now. */
  readonly hint: string;
  readonly facts: Readonly<Record<string, unknown>>;

  constructor(code: CliErrorCode, message: string, details: CliErrorDetails) {
    super(message, details.cause === undefined ? undefined : { cause: details.cause });
    this.code = code;
    this.hint = details.hint;
    this.facts = details.facts ?? {};
  }
}

/** Wrong usage of the command line, with what would have been right. */
export function usageError(
  message: string,
  hint: string,
  facts: Readonly<Record<string, unknown>> = {},
): CliError {
  return new CliError('usage', message, { hint, facts });
}

/** Whatever was thrown, as an error. */
export function toError(thrown: unknown): Error {
  return thrown instanceof Error ? thrown : new Error(String(thrown));
}
