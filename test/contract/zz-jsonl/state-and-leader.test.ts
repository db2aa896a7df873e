import { describeStateAndLeader } from './state-and-leader.contract.ts';
import { STORES } from './stores.ts';

for (const store of STORES) describeStateAndLeader(store);
