// A process that kills itself as a power cut would, at one instant of its work: before or after a statement of SQLite,
// once a statement was sent to PostgreSQL, or once it was answered; a backup has its calls of the file system as well.
//
// usage: statement-worker.mjs URL N PREFIX TIME COMMAND
//   N        from 1; 0: the process lives, names each instant as "at NAME", and after each commit waits for a line
//   PREFIX   of the ids that it gives; TIME: what its clock shows, in milliseconds
//   COMMAND  {"target":"runs","verb":"complete","args":[...]}; the targets ledger, runs, tasks, questions, rows,
//            reconciler, and "work" for what takes several calls
// It prints "ack" once it has the answer, "died at NAME" before it dies, and "backends [...]" of PostgreSQL with it.
import fs, { readSync, writeSync } from 'node:fs';
import { syncBuiltinESMExports } from 'node:module';
import pg from 'pg';
import { atEachStatement, wordOf } from './sqlite-instants.mjs';

const [url, limit, prefix, time, json] = process.argv.slice(2);
const command = JSON.parse(json);
const lastInstant = Number(limit);
let instants = Number.NEGATIVE_INFINITY;
const backends = new Set();

function instant(name) {
  instants += 1;
  if (instants <= 0) return;
  if (lastInstant === 0) {
    writeSync(1, `at ${name}\n`);
    if (name === 'commit: after') readSync(0, Buffer.alloc(1));
  } else if (instants === lastInstant) {
    writeSync(1, `backends ${JSON.stringify([...backends])}\ndied at ${name}\n`);
    process.kill(process.pid, 'SIGKILL');
  }
}

atEachStatement(instant);
const send = pg.Client.prototype.query;
pg.Client.prototype.query = function counted(...args) {
  backends.add(this.processID);
  const word = wordOf(typeof args[0] === 'string' ? args[0] : (args[0].text ?? ''));
  const answer = send.apply(this, args);
  instant(`${word}: sent`);
  return typeof answer?.then !== 'function'
    ? answer
    : answer.then((result) => {
        instant(`${word}: after`);
        return result;
      });
};
for (const name of ['linkSync', 'renameSync', 'fsyncSync', 'rmSync']) {
  const original = fs[name];
  fs[name] = (...args) => {
    const result = original(...args);
    instant(`${name}: after`);
    return result;
  };
}
syncBuiltinESMExports();

const { backUp, importInto, openJournals, openLedger, parseTaskRow } = await import('@custody/ledger');
const { createReconciler } = await import('@custody/reconciler');
let ids = 0;
const ledger = await openLedger(url, {
  clock: { now: () => Number(time) },
  newId: () => {
    ids += 1;
    return `${prefix}-${String(ids).padStart(6, '0')}`;
  },
});
const work = {
  put: (row) => ledger.rows.put([parseTaskRow(row)]),
  import: (path) => importInto(ledger, path),
  backup: (path) => backUp(url, path),
  recover: (folder) => openJournals(folder).recover(ledger),
  checkpoint: async (privateKey) =>
    ledger.recordCheckpoint(await ledger.takeCheckpoint({ privateKey, writeRow: async () => undefined })),
};
const targets = { work, ledger, reconciler: createReconciler(ledger) };
const target = targets[command.target] ?? ledger[command.target];
instants = 0;
const answer = await target[command.verb](...command.args);
writeSync(1, `ack ${JSON.stringify(answer)}\n`);
instant('answer: after');
instants = Number.NEGATIVE_INFINITY;
writeSync(1, 'done\n');
await ledger.close();
