import type { Ledger } from '@custody/ledger';
import type { EpochView } from './survey.ts';

/** Reads what a store says of its epoch. */
export async function readEpoch(ledger: Ledger): Promise<EpochView> {
  const { EPOCH_DOCUMENT, parseEpoch } = await import('@custody/ledger');
  const { epoch } = await ledger.head();
  return { epoch, record: parseEpoch(await ledger.state.load(EPOCH_DOCUMENT)) };
}
