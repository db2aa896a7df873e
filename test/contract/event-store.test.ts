import { describeEventStore, describePrintedChain } from './event-store.contract.ts';
import { STORES } from './stores.ts';

for (const store of STORES) describeEventStore(store);
for (const store of STORES.filter(({ chain }) => chain === 'printed')) describePrintedChain(store);
