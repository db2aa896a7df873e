import { checkpointsContract } from './checkpoints.contract.ts';
import { STORES } from './stores.ts';

for (const store of STORES) checkpointsContract(store);
