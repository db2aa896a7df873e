// One step that a host takes on a ledger, on the built packages as a user has them.
//
// usage: host-worker.mjs URL STEP HOLDER TTL_MS
// It prints {"host_time":...,"answer":...}. Steps: claim (anything that can be claimed), beat (whatever runs), sweep, lead.
import { openLedger } from '@custody/ledger';
import { createReconciler } from '@custody/reconciler';

const [url, step, holder, ttl] = process.argv.slice(2);
const ttlMs = Number(ttl);
const ledger = await openLedger(url);

const steps = {
  claim: () => ledger.runs.claim({ holder, ttlMs }),
  beat: async () => {
    const [running] = await ledger.leases.running();
    return ledger.runs.heartbeat({ runId: running.lease.run_id, fence: running.lease.fence, ttlMs });
  },
  sweep: () => createReconciler(ledger, { liveTaskIds: () => new Set() }).sweep(),
  lead: () => ledger.leaders.tryLead('reconciler', holder, ttlMs),
};
const answer = await steps[step]();
process.stdout.write(JSON.stringify({ host_time: new Date().toISOString(), answer }));
await ledger.close();
