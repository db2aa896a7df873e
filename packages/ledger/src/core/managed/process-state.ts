import type { ProcessIdentity } from './managed-task.ts';

/** Which boot of which machine this is, and which pids mean something here. */
export type HostIdentity = Omit<ProcessIdentity, 'pid' | 'started_at_ticks'>;

/** Who has a pid now. `hidden` = somebody who can't be seen from here. */
export type SeenProcess =
  | { readonly outcome: 'seen'; readonly started_at_ticks: number }
  | { readonly outcome: 'gone' }
  | { readonly outcome: 'hidden' };

/** Where a process stands that was identified earlier, as far as this host can tell. */
export function stateOfProcess(
  identity: ProcessIdentity,
  host: HostIdentity | null,
  seen: SeenProcess,
): 'alive' | 'gone' | 'foreign' {
  if (host === null) return 'foreign';
  const isOurMachine = identity.machine_id !== undefined && identity.machine_id === host.machine_id;
  // A reboot of this machine ended everything that ran on it; of another machine nothing is known here.
  if (identity.boot_id !== host.boot_id) return isOurMachine ? 'gone' : 'foreign';
  if (identity.pid_namespace !== host.pid_namespace) return 'foreign';
  if (seen.outcome === 'hidden') return 'foreign';
  return seen.outcome === 'seen' && seen.started_at_ticks === identity.started_at_ticks ? 'alive' : 'gone';
}
