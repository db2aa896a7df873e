// A failover that stops at a point until somebody kills it, on the built command as a user has it.
//
// usage: failover-worker.mjs '{"store":URL,"folder":DIR,"old":URL,"new":URL,"public":URL,"stop":POINT,"forceFence":BOOL}'
// It prints the name of each point after which everything so far is durable, and waits for ever after the one named.
import { writeSync } from 'node:fs';
import { openLedger } from '@custody/ledger';
import { promote } from '../../packages/cli/dist/failover/promote.js';

const { store, folder, old, new: standby, public: proxy, stop, forceFence } = JSON.parse(process.argv[2]);

const outcome = await promote({
  input: {
    folder,
    oldUrl: new URL(old),
    newUrl: new URL(standby),
    publicUrl: new URL(proxy),
    oldNode: null,
    newNode: null,
  },
  consent: { markFailed: true, forceFence },
  token: null,
  open: (use) => openLedger(store, { create: false, readOnly: use === 'prove' }),
  now: () => Date.now(),
  tell: async () => undefined,
  onDurable: async (point) => {
    writeSync(1, `${point}\n`);
    if (point !== stop) return;
    // Keeps the process alive, and the point unanswered.
    setInterval(() => undefined, 1000);
    await new Promise(() => undefined);
  },
});
writeSync(1, `${JSON.stringify(outcome)}\n`);
