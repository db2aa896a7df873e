// A process with several connections that append batches to a ledger, on the built packages as a user has them.
//
// usage: batch-worker.mjs URL NAME HANDLES EVENTS BATCH
// Each of the handles appends EVENTS events, BATCH at a time. It prints "ready" once all are open, starts when a line
// arrives on stdin, and ends with "done".
import { once } from 'node:events';
import { openLedger } from '@custody/ledger';

const [url, name, handles, events, batch] = process.argv.slice(2);
const ledgers = [];
for (let index = 0; index < Number(handles); index += 1) ledgers.push(await openLedger(url));
process.stdout.write('ready\n');
await once(process.stdin, 'data');

await Promise.all(
  ledgers.map(async (ledger, handle) => {
    for (let first = 0; first < Number(events); first += Number(batch)) {
      const many = Math.min(Number(batch), Number(events) - first);
      await ledger.append(
        Array.from({ length: many }, (_, index) => ({
          id: `${name}-${handle}-${first + index}`,
          type: 'run.started',
          run_id: `run-${name}-${handle}-${first + index}`,
          task_id: `t-${(first + index) % 50}`,
        })),
      );
    }
    await ledger.close();
  }),
);
process.stdout.write('done\n');
process.exit(0);
