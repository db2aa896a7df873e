// Backfills the store at a URL in a process of its own; says when it begins and when it is done.
import { openLedger } from '@custody/ledger';
import { createReconciler } from '@custody/reconciler';

const [url] = process.argv.slice(2);
const ledger = await openLedger(String(url));
process.stdout.write('begins\n');
await createReconciler(ledger).backfill();
process.stdout.write('done\n');
await ledger.close();
