// A process that appends to a ledger, on the built packages as a user has them.
//
// usage: append-worker.mjs URL NAME EVENTS WIDTH
//   NAME    distinguishes the runs of this process
//   EVENTS  how many to append; 0 = go on until killed
//   WIDTH   appends that wait at the same time
// It prints "ready" once the ledger is open, starts when a line arrives on stdin, acknowledges every append as
// "ID SEQ" after it is durable, and ends with "done".
import { once } from 'node:events';
import { writeSync } from 'node:fs';
import { openLedger } from '@custody/ledger';

const [url, name, events, width] = process.argv.slice(2);
const total = Number(events) === 0 ? Number.POSITIVE_INFINITY : Number(events);

// Straight to the file descriptor: what is acknowledged must not wait in a buffer when the process is killed.
const say = (line) => writeSync(1, `${line}\n`);

const ledger = await openLedger(url);
say('ready');
await once(process.stdin, 'data');

let next = 0;
async function appendInTurn() {
  while (next < total) {
    const index = next;
    next += 1;
    const run = `run-${name}-${index >> 1}`;
    const event =
      index % 2 === 0
        ? { type: 'run.started', run_id: run, task_id: `t-${index % 7}`, snapshot_id: `s-${run}` }
        : {
            type: 'run.settled',
            run_id: run,
            task_id: `t-${(index - 1) % 7}`,
            state: 'succeeded',
            cost_usd: 0.5,
            spend_disclosed: true,
          };
    const { events: placed } = await ledger.append([{ id: `${name}-${index}`, ...event }]);
    say(`${placed[0].id} ${placed[0].seq}`);
  }
}
await Promise.all(Array.from({ length: Number(width) }, appendInTurn));

await ledger.close();
say('done');
process.exit(0);
