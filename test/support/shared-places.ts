import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { onTestFinished } from 'vitest';
import { takeLedger } from './postgres.ts';

/** A kind of place that several processes can have open at once and that keeps managed tasks. */
export interface SharedPlace {
  readonly name: string;
  /** How often a race is run there, of the given number of times. A statement that travels takes its time. */
  rounds(most: number): number;
  /** The URL of an empty ledger; it is removed when the test has ended and its processes are gone. */
  make(): Promise<string>;
}

/** Every such place. */
export const SHARED_PLACES: readonly SharedPlace[] = [
  {
    name: 'SQLite',
    rounds: (most) => most,
    make: async () => {
      const directory = mkdtempSync(join(tmpdir(), 'custody-shared-'));
      onTestFinished(() => rmSync(directory, { recursive: true, force: true }));
      return `sqlite:${join(directory, 'custody.db')}?durability=normal`;
    },
  },
  {
    name: 'PostgreSQL',
    rounds: (most) => (process.env['CUSTODY_TEST_LONG'] === undefined ? most / 5 : most),
    make: async () => {
      const { url, giveBack } = await takeLedger();
      onTestFinished(giveBack);
      return url;
    },
  },
];
