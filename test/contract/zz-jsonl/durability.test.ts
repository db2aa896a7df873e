import { describeDurability } from './durability.contract.ts';
import { DURABLE_STORES } from './stores.ts';

for (const store of DURABLE_STORES) describeDurability(store);
