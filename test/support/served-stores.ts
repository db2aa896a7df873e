import { onTestFinished } from 'vitest';
import { takeLedger } from './postgres.ts';

/** A store that can be served and failed over. */
export interface ServedStore {
  readonly name: string;
  /** A new, empty ledger; undefined for a file beside the test's other files. */
  readonly url: () => Promise<string | undefined>;
}

/** Every store with an epoch. */
export const SERVED_STORES: readonly ServedStore[] = [
  { name: 'SQLite', url: async () => undefined },
  {
    name: 'PostgreSQL',
    url: async () => {
      const { url, giveBack } = await takeLedger();
      onTestFinished(giveBack);
      return url;
    },
  },
];
