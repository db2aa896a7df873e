import { hash } from 'node:crypto';

/** The hash before the first event: 64 zeros. */
export const GENESIS_HASH = '0'.repeat(64);

/**
 * The next link of the chain: sha256 over the previous hash (64 lower-case hex digits) followed by the
 * stored text in UTF-8. Anyone can check a ledger with sha256 and its exported lines.
 */
export function chainHash(previous: string, text: string | Uint8Array): string {
  const covered = typeof text === 'string' ? previous + text : Buffer.concat([Buffer.from(previous), text]);
  return hash('sha256', covered, 'hex');
}
