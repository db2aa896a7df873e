import { describeBadInput } from './bad-input.contract.ts';
import { describeCustodyReader } from './custody-reader.contract.ts';
import { describeEventStore, describePrintedChain } from './event-store.contract.ts';
import { describeOwnTaskRows } from './own-task-rows.contract.ts';
import { SERVED } from './served-store.ts';
import { describeSettleScan } from './settle-scan.contract.ts';
import { describeStateAndLeader } from './state-and-leader.contract.ts';
import { describeTaskRows } from './task-rows.contract.ts';

// Everything that a store promises holds for one that another process serves.
describeEventStore(SERVED);
describePrintedChain(SERVED);
describeBadInput(SERVED);
describeCustodyReader(SERVED);
describeSettleScan(SERVED);
describeStateAndLeader(SERVED);
describeOwnTaskRows(SERVED);
describeTaskRows(SERVED.name, async () => {
  const { ledger } = await SERVED.open();
  return {
    rows: ledger.rows,
    put: async (row) => {
      await ledger.rows.put([row]);
    },
  };
});
