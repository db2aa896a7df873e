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

/** An id that follows from another one: a UUID of version 8, always the same for the same place. */
export function derivedId(from: string, place: number): string {
  const digits = hash('sha256', `${from}\n${place}`, 'hex');
  const parts = [
    digits.slice(0, 8),
    digits.slice(8, 12),
    `8${digits.slice(13, 16)}`,
    `a${digits.slice(17, 20)}`,
    digits.slice(20, 32),
  ];
  return parts.join('-');
}
