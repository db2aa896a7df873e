import type { Seams } from '@custody/cli/simulation';
import { CustodyFold, taskCustodyOf } from '@custody/ledger';
import type { RunGateway, RunLookup } from '@custody/reconciler';

function withLookup(gateway: RunGateway, change: (answer: RunLookup) => RunLookup): RunGateway {
  return {
    ...gateway,
    lookup: async (run) => {
      const unknown: RunLookup = { outcome: 'unknown', reason: 'thrown' };
      return change(await gateway.lookup(run).catch(() => unknown));
    },
  };
}

/** Takes an executor that can't be asked for one that has no such run. */
export const unknownIsAbsent: Seams = {
  gateway: (gateway) =>
    withLookup(gateway, (answer) => (answer.outcome === 'unknown' ? { outcome: 'absent' } : answer)),
};

/** Never learns that a run has ended, nor stops one itself. */
export const deafToEnds: Seams = {
  gateway: (gateway) => ({
    ...withLookup(gateway, (answer) =>
      answer.outcome === 'terminal' ? { outcome: 'unknown', reason: 'not heard' } : answer,
    ),
    cancel: async () => ({ outcome: 'rejected' }),
  }),
};

/** Sends a stored start again under a key that was never sent. */
export const freshKeys: Seams = {
  gateway: (gateway) => {
    let sent = 0;
    return {
      ...gateway,
      resubmit: (submission) => {
        sent += 1;
        return gateway.resubmit({
          ...submission,
          invocation_id: `${submission.invocation_id}-again-${sent}`,
        });
      },
    };
  },
};

/** Stops whatever it finds running. */
export const tidiesUp: Seams = {
  gateway: (gateway) => ({
    ...gateway,
    lookup: async (run) => {
      const answer = await gateway.lookup(run);
      if (answer.outcome === 'live') await gateway.cancel(run, 'nobody seems to want it');
      return answer;
    },
  }),
};

/** Never learns that a run is gone. */
export const deafToAbsence: Seams = {
  gateway: (gateway) =>
    withLookup(gateway, (answer) =>
      answer.outcome === 'absent' ? { outcome: 'unknown', reason: 'not heard' } : answer,
    ),
};

/** Takes a log that can't be read for an empty one. */
export const unreadableIsEmpty: Seams = {
  ledger: (ledger, world) => ({
    ...ledger,
    custody: {
      ...ledger.custody,
      isReadable: async () => true,
      tasks: async (ids) => {
        const known = await ledger.custody.tasks(ids);
        if (world.unreadableFor === 0) return known;
        const nothing = new CustodyFold();
        return new Map([...known].map(([id, { facts }]) => [id, { ...taskCustodyOf(nothing, id), facts }]));
      },
    },
  }),
};
