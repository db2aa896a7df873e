import { openLedger } from '@custody/ledger';
import { onTestFinished } from 'vitest';
import { manualClock } from './manual-clock.ts';
import { serveLedger } from './served-ledger.ts';

/** A ledger in memory that answers over HTTP; the end of the test stops it. */
export async function openApi() {
  const clock = manualClock();
  const ledger = await openLedger('memory:', { clock });
  const server = await serveLedger(ledger);
  onTestFinished(async () => {
    await server.stop();
    await ledger.close();
  });
  return { clock, ledger, url: server.url };
}
