import { openLedger } from '@custody/ledger';

// A holder that claims a task, says so, and then is there until it is killed.

const [store = '', taskId = '', ttlMs = '0'] = process.argv.slice(2);
const ledger = await openLedger(store);
const claimed = await ledger.runs.claim({ holder: 'holder', taskId, ttlMs: Number(ttlMs) });
process.stdout.write(`${JSON.stringify(claimed)}\n`);
setInterval(() => undefined, 60_000);
