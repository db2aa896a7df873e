import { chainHash, GENESIS_HASH, isId } from '@custody/ledger';

/**
 * The id of an event that says the same thing whenever, and by whichever process, it is said: two sweeps that
 * find the same end of a run write it once. Readable when it fits, else hashed.
 */
export function reconcileId(...parts: readonly string[]): string {
  const readable = ['reconcile', ...parts].join(':');
  return isId(readable) ? readable : `reconcile:sha256:${chainHash(GENESIS_HASH, JSON.stringify(parts))}`;
}
