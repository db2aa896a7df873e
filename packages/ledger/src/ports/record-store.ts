/**
 * Documents that a served ledger keeps for its clients: texts by id, beside the log. They are no events: nothing of
 * custody follows from one, and the newest text of an id is the only one.
 */
export interface RecordStore {
  /**
   * Keeps a text under an id in place of what was there, and returns once it is durable. It is read back exactly.
   *
   * @throws StaleEpochError if another handle has raised the epoch; nothing was written.
   */
  put(id: string, text: string): Promise<void>;
  /** The text, or null if nothing was ever put there. */
  get(id: string): Promise<string | null>;
}
