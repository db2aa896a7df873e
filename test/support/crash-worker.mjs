// A process that kills itself as a power cut would, right after one step of its work reached the disk.
//
// usage: crash-worker.mjs URL WORK STEP
//   WORK  append: appends e-1 and e-2; heal: backfills
//   STEP  synced: the log was written and synced; renamed: a row was replaced; none: it lives
import fs from 'node:fs';
import { syncBuiltinESMExports } from 'node:module';

const [url, work, step] = process.argv.slice(2);
const die = () => process.kill(process.pid, 'SIGKILL');

if (step === 'synced') {
  const { fdatasyncSync } = fs;
  fs.fdatasyncSync = (fd) => {
    fdatasyncSync(fd);
    die();
  };
}
if (step === 'renamed') {
  const { renameSync } = fs;
  fs.renameSync = (from, to) => {
    renameSync(from, to);
    if (String(to).includes('task_results')) die();
  };
}
syncBuiltinESMExports();

const { openLedger } = await import('@custody/ledger');
const { createReconciler } = await import('@custody/reconciler');
const ledger = await openLedger(url);
if (work === 'append') {
  await ledger.append([
    { id: 'e-1', type: 'run.started', run_id: 'run-1', task_id: 't-1' },
    { id: 'e-2', type: 'run.started', run_id: 'run-2', task_id: 't-1' },
  ]);
} else {
  await createReconciler(ledger).backfill();
}
await ledger.close();
