import type { TaskDone } from '@custody/ledger';
import { printable } from './printable.ts';

/** What was done to a task, and where it stands now. */
export function taskText({ outcome, task_id, status }: TaskDone<string>): string {
  return `${outcome} ${printable(task_id)}: ${status}`;
}
