import type { JsonObject, RunRecord } from '@custody/ledger';

/** Takes the work of an ended run out of its snapshot, so that it can be applied or rejected later. */
export interface PatchCapture {
  /**
   * Captures the patch of a run that is proven to have ended. Doing it twice must give the same.
   * Returns the facts for `patch.captured`, or null if there is nothing to take. @throws if it could not be taken.
   */
  capture(run: RunRecord): Promise<JsonObject | null>;
}
