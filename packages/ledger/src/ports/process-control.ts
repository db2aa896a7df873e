import type { ProcessIdentity } from '../core/managed/managed-task.ts';

/** Where a process stands that was identified earlier. */
export type ProcessState =
  /** It runs, or something that it started goes on in the group that it led. */
  | 'alive'
  /** Ended, or a zombie, or its pid belongs to another process by now, or its machine was started anew. */
  | 'gone'
  /** Of another machine or pid namespace, or hidden: nothing can be said of it from here, so it is never signalled. */
  | 'foreign';

/** The processes of this host. */
export interface ProcessControl {
  /** Who has a pid now; null if nobody has. */
  identify(pid: number): Promise<ProcessIdentity | null>;
  stateOf(identity: ProcessIdentity): Promise<ProcessState>;
  /** Sends a signal to exactly this process, and to the group that it leads; false if it is gone, or may not be signalled. */
  signal(identity: ProcessIdentity, name: 'SIGTERM' | 'SIGKILL'): Promise<boolean>;
  /** Waits for a while; by hand in tests. */
  wait(milliseconds: number): Promise<void>;
}
