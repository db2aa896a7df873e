import type { HostIdentity, ProcessIdentity, ProcessStat, RunRecord } from '@custody/ledger';
import { hasLivingMember, isProcessEnded, readHost, readPidEntry, signalTarget } from '@custody/ledger';
import { toProcessIdentity } from '../core/process-identity.ts';
import type { CancelAnswer, RunGateway, RunLookup } from '../ports/run-gateway.ts';

/** How processes are stopped. */
export interface ProcessGatewayOptions {
  /** What a cancel sends. @default 'SIGTERM' */
  readonly signal?: NodeJS.Signals;
}

/** What is known of the process of a run. */
type Found =
  | { readonly outcome: 'running'; readonly identity: ProcessIdentity; readonly stat: ProcessStat }
  | { readonly outcome: 'ended' }
  | { readonly outcome: 'unknown'; readonly reason: string };

/**
 * Runs that are processes of this host, named by the `process` of their `run.started` (see {@link ProcessIdentity}).
 *
 * How a process ended is its parent's to know, so an ended one is `absent` and never `terminal`. Whatever can't be
 * proven is unknown: no identity, another machine or pid namespace, a process that is hidden, a leader that is gone
 * while its group lives. On any system but Linux everything is unknown. Nothing is ever started again: whether a
 * spawn that nobody recorded took place can't be found out.
 */
export function processGateway(options: ProcessGatewayOptions = {}): RunGateway {
  return {
    lookup: async (run): Promise<RunLookup> => {
      const found = await find(run);
      switch (found.outcome) {
        case 'running':
          return { outcome: 'live', state: 'running' };
        case 'ended':
          return { outcome: 'absent' };
        case 'unknown':
          return found;
      }
    },
    cancel: async (run): Promise<CancelAnswer> => {
      const found = await find(run);
      if (found.outcome === 'unknown') return found;
      return found.outcome === 'ended' ? { outcome: 'absent' } : stop(found, options.signal ?? 'SIGTERM');
    },
    resubmit: async () => ({ outcome: 'unknown', reason: 'a local process is not started again' }),
  };
}

async function find(run: RunRecord): Promise<Found> {
  const identity = toProcessIdentity(run.facts['process']);
  if (identity === null) return unknown("the run's start names no process");
  const host = await readHost();
  if (host === null) return unknown('processes can be told apart on Linux only');
  const elsewhere = placeOf(identity, host);
  return elsewhere ?? findHere(identity);
}

/** Where the process is if not here: gone with an earlier boot, or somewhere that can't be seen. Null = here. */
function placeOf(identity: ProcessIdentity, host: HostIdentity): Found | null {
  if (identity.boot_id !== host.boot_id) {
    const isThisMachine = identity.machine_id !== undefined && identity.machine_id === host.machine_id;
    return isThisMachine
      ? { outcome: 'ended' }
      : unknown('the process belongs to another boot, perhaps of another machine');
  }
  const isOtherNamespace =
    identity.pid_namespace !== undefined && identity.pid_namespace !== host.pid_namespace;
  return isOtherNamespace ? unknown('the process belongs to another pid namespace') : null;
}

async function findHere(identity: ProcessIdentity): Promise<Found> {
  const seen = await readPidEntry(identity.pid);
  if (seen.outcome === 'hidden') return unknown(seen.reason);
  // The kernel keeps a pid as long as a group bears its number: a stranger there proves that the group is gone, too.
  if (seen.outcome === 'seen' && seen.stat.started_at_ticks !== identity.started_at_ticks)
    return { outcome: 'ended' };
  if (seen.outcome === 'seen' && !isProcessEnded(seen.stat))
    return { outcome: 'running', identity, stat: seen.stat };
  return (await hasLivingMember(identity.pid))
    ? unknown(`process ${identity.pid} has ended, members of its group have not`)
    : { outcome: 'ended' };
}

/** To the whole group where the process leads one, so that what it started stops with it. */
function stop(
  { identity, stat }: Extract<Found, { outcome: 'running' }>,
  signal: NodeJS.Signals,
): CancelAnswer {
  const target = signalTarget(identity.pid, stat.group === identity.pid);
  try {
    process.kill(target, signal);
    return { outcome: 'accepted', status: signal };
  } catch (error) {
    const code = codeOf(error);
    if (code === 'ESRCH') return { outcome: 'absent' };
    return code === 'EPERM' ? { outcome: 'rejected', reason: code } : unknown(code);
  }
}

function unknown(reason: string): { readonly outcome: 'unknown'; readonly reason: string } {
  return { outcome: 'unknown', reason };
}

/** The code of an error of the operating system, such as `EPERM`. */
function codeOf(error: unknown): string {
  return error instanceof Error && 'code' in error && typeof error.code === 'string' ? error.code : 'UNKNOWN';
}
