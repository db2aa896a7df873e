import type { ContainmentRecord, Ledger, NewEvent, RunRecord, TaskRows } from '@custody/ledger';
import type { OwnerVerdict } from '../core/owner-verdict.ts';
import { ownerVerdict } from '../core/owner-verdict.ts';
import { faultEvent } from '../core/run-events.ts';
import type { CostLedger } from '../ports/cost-ledger.ts';
import type { PatchCapture } from '../ports/patch-capture.ts';
import type { RequestBodies } from '../ports/request-bodies.ts';
import type { RunGateway } from '../ports/run-gateway.ts';
import type { Recorded } from './record-events.ts';
import { recordEvents } from './record-events.ts';

/** What the settling of a run may use beside the log; each is optional. */
export interface SettlePorts {
  /** Books the cost of a settled run elsewhere. @default the cost stands in `run.settled` only */
  readonly costs?: CostLedger | undefined;
  /** Takes patches out of snapshots. @default none is taken; the patch stays owed all the same */
  readonly patches?: PatchCapture | undefined;
  /** Bodies that the log refers to. @default only bodies that stand in the log are sent again */
  readonly bodies?: RequestBodies | undefined;
}

/** One pass over orphans: its ports, and what it has learnt so far. */
export interface OrphanPass {
  readonly ledger: Ledger;
  readonly gateway: RunGateway;
  readonly ports: SettlePorts;
  /** Whether somebody meant the task to end, and how. Asked once a task. */
  verdictOf(taskId: string): Promise<OwnerVerdict | null>;
  /** The open fault of a run, if there is one. */
  openFaultOf(runId: string): Promise<ContainmentRecord | null>;
  /** Raises a fault unless the same one is open: a daemon that is away for a week is one fault, not one a sweep. */
  raiseFault(run: RunRecord, reason: string, detail: string): Promise<Recorded>;
  record(events: readonly NewEvent[]): Promise<Recorded>;
  /** Why the log takes nothing any more; null while it does. */
  readonly storeFault: () => string | null;
}

/** What a pass is opened with. `verdict` is one that a caller is about to write to the row itself. */
export interface OrphanPassSetup extends SettlePorts {
  readonly ledger: Ledger;
  readonly rows: TaskRows;
  readonly gateway: RunGateway;
  readonly verdict?: OwnerVerdict | undefined;
}

/** Opens a pass. */
export function openOrphanPass(setup: OrphanPassSetup): OrphanPass {
  const { ledger, rows, gateway } = setup;
  const verdicts = new Map<string, Promise<OwnerVerdict | null>>();
  let faults: Promise<Map<string, ContainmentRecord>> | null = null;
  let broken: string | null = null;

  async function record(events: readonly NewEvent[]): Promise<Recorded> {
    const recorded = await recordEvents(ledger, events);
    if (recorded.outcome === 'lost' && recorded.store) broken = recorded.error;
    return recorded;
  }

  async function openFaultOf(runId: string): Promise<ContainmentRecord | null> {
    faults ??= ledger.custody
      .openFaults()
      .then((open) => new Map(open.map((fault) => [fault.run_id, fault])));
    return (await faults).get(runId) ?? null;
  }

  return {
    ledger,
    gateway,
    ports: setup,
    record,
    openFaultOf,
    storeFault: () => broken,
    verdictOf: (taskId) => {
      if (setup.verdict !== undefined) return Promise.resolve(setup.verdict);
      const known = verdicts.get(taskId) ?? readVerdict(rows, taskId);
      verdicts.set(taskId, known);
      return known;
    },
    raiseFault: async (run, reason, detail) => {
      const open = await openFaultOf(run.run_id);
      return open?.reason === reason ? { outcome: 'recorded' } : record([faultEvent(run, reason, detail)]);
    },
  };
}

/** A row that can't be read tells of no verdict: unknown is exactly the case in which nothing is stopped. */
async function readVerdict(rows: TaskRows, taskId: string): Promise<OwnerVerdict | null> {
  try {
    return ownerVerdict((await rows.load(taskId))?.row ?? null);
  } catch {
    return null;
  }
}
