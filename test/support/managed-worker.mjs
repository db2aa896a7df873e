// A process that works on managed tasks, on the built packages as a user has them.
//
// usage: managed-worker.mjs URL
// It prints "ready" once the ledger is open, then carries out one command a line of stdin, in their order:
//   {"id":1,"target":"runs","verb":"complete","args":{...}}       a command of the ledger
//   {"id":2,"target":"journals","verb":"recover","args":{"directory":"...","die":"before_remove"}}
// and answers each with {"id":1,"answer":{...}} or {"id":1,"error":"..."}. `die` names the instant at which the process
// kills itself as a power cut would: after a step of the journal was made durable, or before the file is removed.
import { writeSync } from 'node:fs';
import { createInterface } from 'node:readline';
import { diskJournalFiles, openJournals, openLedger } from '@custody/ledger';
import { createReconciler } from '@custody/reconciler';

const ledger = await openLedger(process.argv[2]);
// Straight to the file descriptor: what was answered must not wait in a buffer when the process is killed.
const say = (line) => writeSync(1, `${line}\n`);
const die = () => process.kill(process.pid, 'SIGKILL');

function journalsOf({ directory, die: instant }) {
  const disk = diskJournalFiles((step) => {
    if (step === instant) die();
  });
  const files =
    instant === 'before_remove'
      ? {
          ...disk,
          remove: async () => {
            die();
            await new Promise(() => undefined);
          },
        }
      : disk;
  return openJournals(directory, { files });
}

async function carryOut({ target, verb, args }) {
  if (target === 'ledger') return ledger[verb](args);
  if (target === 'reconciler') return createReconciler(ledger)[verb]();
  if (target !== 'journals') return ledger[target][verb](args);
  const folder = journalsOf(args);
  return verb === 'recover' ? folder.recover(ledger) : folder.write(args.entry);
}

say('ready');
for await (const line of createInterface({ input: process.stdin })) {
  const command = JSON.parse(line);
  try {
    say(JSON.stringify({ id: command.id, answer: await carryOut(command) }));
  } catch (error) {
    say(JSON.stringify({ id: command.id, error: `${error.code ?? error.name}: ${error.message}` }));
  }
}
await ledger.close();
