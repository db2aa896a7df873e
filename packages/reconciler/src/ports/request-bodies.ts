import type { JsonObject } from '@custody/ledger';

/**
 * Where the bodies of start requests are kept, addressed by their content, so that the log carries a reference
 * and a retry sends what was sent.
 */
export interface RequestBodies {
  /** Stores a body durably and returns its reference. @throws if it could not be stored. */
  put(body: JsonObject): Promise<JsonObject>;
  /** The body of a reference, or null if it is not there, is damaged, or the reference is of another kind. */
  get(reference: JsonObject): Promise<JsonObject | null>;
}
