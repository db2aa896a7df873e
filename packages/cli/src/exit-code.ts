/** What the process tells its caller: the contract of every command (docs/cli-json.md). */
export const EXIT = {
  done: 0,
  /** Refused, nothing found, or findings with `--check`. */
  refused: 1,
  /** Wrong usage or invalid input; nothing was changed beyond what the error says. */
  usage: 2,
  /** The store is missing, unreadable, corrupt, or the program itself failed. */
  store: 3,
  /** Somebody else holds the lock; trying again is right. */
  busy: 4,
} as const;

/** One of the five exit codes. */
export type ExitCode = (typeof EXIT)[keyof typeof EXIT];

const BY_ERROR_CODE: ReadonlyMap<string, ExitCode> = new Map([
  ['usage', EXIT.usage],
  ['input_unreadable', EXIT.usage],
  ['invalid_event', EXIT.usage],
  ['event_id_conflict', EXIT.usage],
  ['event_too_large', EXIT.usage],
  ['invalid_json', EXIT.usage],
  ['invalid_row', EXIT.usage],
  ['invalid_url', EXIT.usage],
  ['invalid_option', EXIT.usage],
  ['not_supported', EXIT.usage],
  ['invalid_key', EXIT.usage],
  ['invalid_checkpoint', EXIT.usage],
  ['listen_failed', EXIT.usage],
  ['state_unreadable', EXIT.usage],
  ['token_file_unusable', EXIT.usage],
  ['row_frozen', EXIT.refused],
  ['node_fenced', EXIT.refused],
  ['read_only', EXIT.refused],
  ['stale_epoch', EXIT.refused],
  ['journal_conflict', EXIT.refused],
  ['busy', EXIT.busy],
]);

/** The exit code of an error; one that nobody planned for leaves the store in doubt, as an unreadable one does. */
export function exitCodeOf(errorCode: string): ExitCode {
  return BY_ERROR_CODE.get(errorCode) ?? EXIT.store;
}
