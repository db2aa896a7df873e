// A process that kills itself as a power cut would, right after the n-th step of its work that touched the disk: a call
// of the file system, or a statement of SQLite that may write, with the begin and the commit of its transaction.
//
// usage: step-worker.mjs URL WORK N
//   WORK  append, rotate, put, heal, sweep, checkpoint, recover (a folder of journals beside the store);
//         submit, complete, reclaim, ask, park, answer (HELD: the run, the fence and the question, as JSON)
//   N     from 1; the process lives, and prints "done after N steps", if its work has fewer steps
// It prints every event that was acknowledged as "ack ID".
import fs, { writeSync } from 'node:fs';
import fsp from 'node:fs/promises';
import { syncBuiltinESMExports } from 'node:module';
import Database from 'better-sqlite3';

const [url, work, limit] = process.argv.slice(2);
const { openJournals, openLedger, parseTaskRow } = await import('@custody/ledger');
const { createReconciler } = await import('@custody/reconciler');

let steps = 0;
let lastStep = Number.POSITIVE_INFINITY;
const step = (name) => {
  steps += 1;
  if (steps !== lastStep) return;
  writeSync(1, `died after ${name}\n`);
  process.kill(process.pid, 'SIGKILL');
};
for (const name of [
  'writeSync',
  'fdatasyncSync',
  'fsyncSync',
  'renameSync',
  'linkSync',
  'unlinkSync',
  'rmSync',
  'writeFileSync',
  'ftruncateSync',
]) {
  const original = fs[name];
  fs[name] = (...args) => {
    const result = original(...args);
    // What goes to stdout is no step of the work.
    if (args[0] !== 1) step(name);
    return result;
  };
}
for (const name of ['open', 'writeFile', 'rename', 'link', 'unlink', 'rm', 'mkdir']) {
  const original = fsp[name];
  fsp[name] = async (...args) => {
    const result = await original(...args);
    step(name);
    return result;
  };
}
syncBuiltinESMExports();
const memory = new Database(':memory:');
const statements = Object.getPrototypeOf(memory.prepare('select 1'));
memory.close();
for (const name of ['run', 'get', 'all']) {
  const original = statements[name];
  statements[name] = function counted(...args) {
    const result = original.apply(this, args);
    const word = /^\s*(\w+)/.exec(this.source)[1].toLowerCase();
    // To SQLite a begin and a commit only read.
    if (!this.readonly || word === 'begin' || word === 'commit') step(word);
    return result;
  };
}

const ledger = await openLedger(url);
const reconciler = createReconciler(ledger);
const append = async (events) => {
  const { events: placed } = await ledger.append(events);
  for (const { id } of placed) writeSync(1, `ack ${id}\n`);
};
const key = process.env.SIGNING_KEY;
const held = JSON.parse(process.env.HELD ?? '{}');
const attempt = { taskId: held.taskId, runId: held.runId, fence: held.fence };
const asking = { runId: held.runId, fence: held.fence };
const works = {
  append: () => append([{ id: 'w-1', type: 'run.started', run_id: 'w-1', task_id: 't-1' }]),
  // The log has outgrown its bound: this append moves it to the archive first.
  rotate: () => append([{ id: 'w-1', type: 'run.started', run_id: 'w-1', task_id: 't-1' }]),
  put: () => ledger.rows.put([parseTaskRow('{"task_id":"t-9","status":"failed"}')]),
  heal: () => reconciler.backfill(),
  sweep: () => reconciler.sweep(),
  checkpoint: async () => {
    const checkpoint = await ledger.takeCheckpoint({ privateKey: key, writeRow: async () => undefined });
    await ledger.recordCheckpoint(checkpoint);
  },
  recover: () => openJournals(process.env.JOURNALS).recover(ledger),
  submit: () => ledger.runs.submit({ ...attempt, idempotencyKey: 'k-1', value: 1 }),
  complete: () => ledger.runs.complete({ ...attempt, result: 'done' }),
  reclaim: () => ledger.runs.reclaim({ taskId: held.taskId, runId: held.runId, reason: 'stuck' }),
  ask: () => ledger.runs.ask({ ...asking, question: 'Ship?', options: ['Yes', 'No'] }),
  park: () => ledger.runs.park({ ...asking, questionId: held.questionId }),
  answer: () => ledger.questions.answer({ questionId: held.questionId, option: 'A' }),
};
steps = 0;
lastStep = Number(limit);
await works[work]();
lastStep = Number.POSITIVE_INFINITY;
writeSync(1, `done after ${steps} steps\n`);
await ledger.close();
