import type { Attempt, RecordedEvent, RunRecord, TaskCustody } from '@custody/ledger';
import { isOutputUnread, isPatchOwed } from '@custody/ledger';
import type { Bar } from './run-bars.ts';

/** A run as a bar. */
export function barOfRun(run: RunRecord, attempt: Attempt | null = null): Bar {
  const left = [
    ...(isPatchOwed(run) ? ['patch owed'] : []),
    ...(isOutputUnread(run) ? ['output unread'] : []),
    ...(run.patch_disposed === '' ? [] : [`patch ${run.patch_disposed}`]),
  ];
  const end = run.settled ? [attempt?.outcome ?? (run.terminal_state || 'absent')] : ['so far'];
  return {
    label: run.run_id,
    start: Date.parse(run.started_at),
    end: run.settled ? Date.parse(run.settled_at) : null,
    owes: isPatchOwed(run) || isOutputUnread(run),
    isDoubtful: false,
    note: [...end, ...left].join(', '),
  };
}

/** Every run of a task, and the starts of which nobody knows what became, in the order of their beginnings. */
export function barsOfTask(
  { runs, invocations }: TaskCustody,
  { attempts, events }: { readonly attempts: readonly Attempt[]; readonly events: readonly RecordedEvent[] },
): readonly Bar[] {
  const attemptOf = new Map(attempts.map((attempt) => [attempt.run_id, attempt]));
  const starts = invocations
    .filter((item) => !item.started)
    .map((item): Bar => {
      const refusal = events.find(
        (event) => event.type === 'run.start_failed' && event['invocation_id'] === item.invocation_id,
      );
      const isRefused = item.failed_definite && refusal !== undefined;
      return {
        label: item.invocation_id,
        start: Date.parse(item.requested_at),
        end: isRefused ? Date.parse(refusal.at) : null,
        owes: false,
        isDoubtful: true,
        note: isRefused ? 'start failed' : 'start, outcome unknown',
      };
    });
  return [...runs.map((run) => barOfRun(run, attemptOf.get(run.run_id) ?? null)), ...starts].sort(
    (a, b) => a.start - b.start,
  );
}
