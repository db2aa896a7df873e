import type { Ledger } from '@custody/ledger';
import type { ForeignRoot } from './foreign-root.ts';

/** A ledger on a root, and how often it read the whole log. */
export interface CountedLedger {
  readonly ledger: Ledger;
  replays(): number;
}

/** Opens a root and counts the replays. */
export async function openCounted(root: ForeignRoot): Promise<CountedLedger> {
  let replays = 0;
  const onReplay = () => {
    replays += 1;
  };
  return { ledger: await root.open({ onReplay }), replays: () => replays };
}
