import { describeEventStore } from './event-store.contract.ts';
import { STORES } from './stores.ts';

for (const store of STORES) describeEventStore(store);
