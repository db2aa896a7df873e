import type { ProcessControl, ProcessIdentity } from '@custody/ledger';

/** A process table that tests fill by hand. */
export interface FakeProcesses extends ProcessControl {
  /** Starts a process and tells who it is. */
  start(pid: number): ProcessIdentity;
  /** Ends a process. */
  end(pid: number): void;
  /** Signals that were sent, oldest first. */
  readonly signals: readonly string[];
  /** Called with each signal before it has its effect; true = the process takes no notice. */
  onSignal: (identity: ProcessIdentity, name: string) => Promise<boolean> | boolean;
  /** Called whenever a state is asked for. */
  onLook: () => Promise<void> | void;
}

/** No processes at first; waits take no time. */
export function fakeProcesses(): FakeProcesses {
  const alive = new Map<number, ProcessIdentity>();
  const signals: string[] = [];
  let starts = 0;
  const processes: FakeProcesses = {
    signals,
    onSignal: () => false,
    onLook: () => undefined,
    start: (pid) => {
      starts += 1;
      const identity = { pid, started_at_ticks: starts, boot_id: 'boot-1' };
      alive.set(pid, identity);
      return identity;
    },
    end: (pid) => {
      alive.delete(pid);
    },
    identify: async (pid) => alive.get(pid) ?? null,
    stateOf: async (identity) => {
      await processes.onLook();
      if (identity.boot_id !== 'boot-1') return 'foreign';
      return alive.get(identity.pid)?.started_at_ticks === identity.started_at_ticks ? 'alive' : 'gone';
    },
    signal: async (identity, name) => {
      signals.push(`${name} ${identity.pid}`);
      if (!(await processes.onSignal(identity, name))) alive.delete(identity.pid);
      return true;
    },
    wait: async () => undefined,
  };
  return processes;
}
