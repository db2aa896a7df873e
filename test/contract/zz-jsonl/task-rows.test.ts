import { describeOwnTaskRows } from './own-task-rows.contract.ts';
import { STORES } from './stores.ts';
import { describeTaskRows } from './task-rows.contract.ts';

for (const store of STORES) {
  describeTaskRows(store.name, async () => {
    const { ledger } = await store.open();
    return {
      rows: ledger.rows,
      put: async (row) => {
        await ledger.rows.put([row]);
      },
    };
  });
  describeOwnTaskRows(store);
}
