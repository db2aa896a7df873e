// Opens a SQLite ledger, which brings an old file along, and kills itself at one instant of it.
//
// usage: migration-worker.mjs URL N
//   N  from 1: before or after a statement; 0: lives, and prints how many there were
import { writeSync } from 'node:fs';
import { openLedger } from '@custody/ledger';
import { atEachStatement } from './sqlite-instants.mjs';

const [url, limit] = process.argv.slice(2);
let instants = 0;
atEachStatement(() => {
  instants += 1;
  if (instants === Number(limit)) process.kill(process.pid, 'SIGKILL');
});
await (await openLedger(url)).close();
writeSync(1, String(instants));
