import { describeSettleScan } from './settle-scan.contract.ts';
import { STORES } from './stores.ts';

for (const store of STORES) describeSettleScan(store);
