import { findLimitFault } from '../core/event-limits.ts';
import type { JsonObject, JsonValue } from '../core/json.ts';
import { withDefaults } from '../core/managed/completion.ts';
import { isPendingName, journalRecord, pendingName, readJournal } from '../core/managed/journal.ts';
import { InvalidEventError, JournalError } from '../errors.ts';
import type { Clock } from '../ports/clock.ts';
import type { JournalFiles } from '../ports/journal-files.ts';
import { idArgument, optionalText } from './arguments.ts';
import type { Ledger } from './ledger.ts';
import type { RecoveredFile } from './recover-journal.ts';
import { recoverJournal } from './recover-journal.ts';

/** A result that a run handed in, to be kept before the ledger is called. */
export interface JournalEntry {
  readonly taskId: string;
  readonly runId: string;
  readonly result: JsonValue;
  /** @default the result, if it is text */
  readonly summary?: string | null;
  readonly metadata?: JsonObject | null;
  /** What else the worker reported; kept, never judged. */
  readonly structured?: JsonObject | null;
}

/** What a recovery did. */
export interface RecoveryReport {
  /** Results that became completions by this call. */
  readonly applied: number;
  /** Results of runs that may no longer complete their task; kept as conflict files. */
  readonly stale: number;
  /** Results that contradict what the ledger has, and files that can't be read; kept as conflict files. */
  readonly conflict: number;
  /** Files that wait for the next recovery. */
  readonly retry: number;
  readonly files: readonly RecoveredFile[];
}

/** Results in a folder that the ledger may not have yet. */
export interface Journals {
  /**
   * Keeps a result durably and returns the path. The same again changes nothing.
   *
   * @throws JournalError `journal_conflict` if another result of that run waits already: a run accepts one.
   */
  write(entry: JournalEntry): Promise<{ readonly pending: string }>;
  /** Hands every waiting result to the ledger. Doing it twice gives the same; one bad file never stops the others. */
  recover(ledger: Pick<Ledger, 'runs' | 'leases'>): Promise<RecoveryReport>;
}

/** Journals in one folder. */
export function journals(parts: {
  readonly directory: string;
  readonly files: JournalFiles;
  readonly clock: Clock;
}): Journals {
  const { directory, files, clock } = parts;
  return {
    write: async (entry) => {
      const record = journalRecord({
        task_id: idArgument('task_id', entry.taskId),
        run_id: idArgument('run_id', entry.runId),
        ...checkedCompletion(entry),
        structured: entry.structured ?? null,
        created_at: new Date(clock.now()).toISOString(),
      });
      const name = pendingName(record.task_id, record.run_id);
      const path = `${directory}/${name}`;
      const waiting = await files.read(directory, name);
      if (waiting === null) {
        await files.write(directory, name, `${JSON.stringify(record, null, 2)}\n`);
      } else if (readJournal(name, waiting)?.content_hash !== record.content_hash) {
        throw new JournalError(
          'journal_conflict',
          `another result of run ${record.run_id} waits in ${path}`,
          {
            hint: 'A run hands in one result. Recover the journal first, or look at the file.',
            facts: { task_id: record.task_id, run_id: record.run_id, file: path },
          },
        );
      }
      return { pending: path };
    },
    recover: async (ledger) => {
      const names = (await files.list(directory)).filter(isPendingName).sort();
      const recovered: RecoveredFile[] = [];
      for (const name of names) {
        const file = await recoverJournal({ ...parts, ledger }, name);
        if (file !== null) recovered.push(file);
      }
      const count = (outcome: RecoveredFile['outcome']) =>
        recovered.filter((file) => file.outcome === outcome).length;
      return {
        applied: count('applied'),
        stale: count('stale'),
        conflict: count('conflict'),
        retry: count('retry'),
        files: recovered,
      };
    },
  };
}

/** What an event can't hold must not wait in a journal that nobody could ever apply. */
function checkedCompletion(entry: JournalEntry) {
  const completion = withDefaults({
    result: entry.result,
    summary: optionalText('summary', entry.summary),
    metadata: entry.metadata ?? null,
  });
  const fault = findLimitFault({ ...completion, structured: entry.structured ?? null });
  if (fault === null) return completion;
  throw new InvalidEventError('invalid_event', `${fault.field} ${fault.problem}`, {
    field: fault.field,
    index: 0,
  });
}
