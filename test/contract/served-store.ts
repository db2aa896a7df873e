import type { Ledger } from '@custody/ledger';
import { openLedger } from '@custody/ledger';
import { onTestFinished } from 'vitest';
import { serveLedger } from '../support/served-ledger.ts';
import type { StoreKind } from './stores.ts';

/** A ledger that a server in this process keeps in memory, and that is reached over a port of the loopback. */
export const SERVED: StoreKind = {
  name: 'served',
  isDurable: true,
  chain: 'printed',
  keepsRecordingTime: true,
  open: async (options = {}) => {
    const behind = await openLedger('memory:', options);
    const server = await serveLedger(behind);
    const handles: Ledger[] = [];
    const open = async () => {
      // Event ids are the server's to make; what the client makes are ids of requests.
      const { newId: _, ...rest } = options;
      const ledger = await openLedger(server.url, rest);
      handles.push(ledger);
      return ledger;
    };
    const closeAll = async () => {
      for (const handle of handles.splice(0)) await handle.close();
    };
    let isOver = false;
    const dispose = async () => {
      if (isOver) return;
      isOver = true;
      await closeAll();
      await server.stop();
      await behind.close();
    };
    onTestFinished(dispose);
    return {
      ledger: await open(),
      directory: null,
      isNew: false,
      reopen: async () => {
        await closeAll();
        return open();
      },
      another: open,
      dispose,
    };
  },
};
