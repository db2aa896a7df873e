import { describeCustodyReader } from './custody-reader.contract.ts';
import { STORES } from './stores.ts';

for (const store of STORES) describeCustodyReader(store);
