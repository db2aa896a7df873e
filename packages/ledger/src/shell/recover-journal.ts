import type { JournalRecord } from '../core/managed/journal.ts';
import { conflictName, identitiesOf, readJournal } from '../core/managed/journal.ts';
import { BusyError, InvalidEventError, UsageError } from '../errors.ts';
import type { Clock } from '../ports/clock.ts';
import type { JournalFiles } from '../ports/journal-files.ts';
import type { Ledger } from './ledger.ts';

/** What became of one waiting file. */
export interface RecoveredFile {
  readonly task_id: string | null;
  readonly run_id: string | null;
  /** `already_applied`: the ledger had it; the file is gone. */
  readonly outcome: 'applied' | 'already_applied' | 'stale' | 'conflict' | 'retry';
  /** Where the file is now, or was. */
  readonly file: string;
  /** Why it was not applied, or not removed. */
  readonly reason?: string;
}

/** What the recovery of a file rests on. */
export interface RecoveryParts {
  readonly directory: string;
  readonly files: JournalFiles;
  readonly clock: Clock;
  readonly ledger: Pick<Ledger, 'runs' | 'leases'>;
}

/** Hands one file to the ledger; null if somebody else dealt with it meanwhile. Never throws for what the file holds. */
export async function recoverJournal(parts: RecoveryParts, name: string): Promise<RecoveredFile | null> {
  const { directory, files } = parts;
  try {
    const bytes = await files.read(directory, name);
    if (bytes === null) return null;
    const record = readJournal(name, bytes);
    return record === null
      ? await setUnreadableAside(parts, name, bytes)
      : await finalize(parts, { name, bytes, record });
  } catch (error) {
    // A store that keeps no tasks will not keep them the next time either.
    if (error instanceof UsageError) throw error;
    return {
      ...(identitiesOf(name)[0] === undefined ? UNKNOWN : named(name)),
      outcome: 'retry',
      file: `${directory}/${name}`,
      reason: reasonOf(error),
    };
  }
}

const UNKNOWN = { task_id: null, run_id: null } as const;

function named(name: string): { readonly task_id: string | null; readonly run_id: string | null } {
  const [identity] = identitiesOf(name);
  return identity === undefined ? UNKNOWN : { task_id: identity.taskId, run_id: identity.runId };
}

function reasonOf(error: unknown): string {
  if (error instanceof BusyError) return 'busy';
  return error instanceof Error ? error.message : String(error);
}

interface Waiting {
  readonly name: string;
  readonly bytes: Uint8Array;
  readonly record: JournalRecord;
}

async function finalize(parts: RecoveryParts, waiting: Waiting): Promise<RecoveredFile | null> {
  const { record, name } = waiting;
  const ids = { task_id: record.task_id, run_id: record.run_id };
  const answer = await applyRecord(parts, record);
  if (answer.outcome === 'refused') {
    // Another writer has taken over: the file is his to recover.
    if (answer.reason === 'stale_epoch')
      return { ...ids, outcome: 'retry', file: `${parts.directory}/${name}`, reason: answer.reason };
    const outcome = answer.reason === 'journal_conflict' ? 'conflict' : 'stale';
    return moveAside(parts, { ...ids, name, bytes: waiting.bytes, outcome, reason: answer.reason });
  }
  const kept = await removeOrSayWhyNot(parts, name);
  return { ...ids, outcome: answer.outcome, file: `${parts.directory}/${name}`, ...kept };
}

/** The ledger has the result: a file that can't be removed now is removed by the next recovery. */
async function removeOrSayWhyNot(
  { directory, files }: RecoveryParts,
  name: string,
): Promise<{ readonly reason?: string }> {
  try {
    await files.remove(directory, name);
    return {};
  } catch (error) {
    return { reason: reasonOf(error) };
  }
}

/** A result that no event may hold contradicts the ledger's rules for ever. */
async function applyRecord({ ledger }: RecoveryParts, record: JournalRecord) {
  try {
    return await ledger.runs.finalize({
      taskId: record.task_id,
      runId: record.run_id,
      result: record.result,
      summary: record.summary,
      metadata: record.metadata,
    });
  } catch (error) {
    if (error instanceof InvalidEventError)
      return { outcome: 'refused', reason: 'journal_conflict' } as const;
    throw error;
  }
}

/**
 * A file that can't be read is kept for people. If its run still holds the task, nobody will ever complete it, so the
 * task is taken back from exactly that run, unless its worker may still be writing.
 */
async function setUnreadableAside(
  parts: RecoveryParts,
  name: string,
  bytes: Uint8Array,
): Promise<RecoveredFile | null> {
  const { ledger, clock } = parts;
  for (const { taskId, runId } of identitiesOf(name)) {
    const running = (await ledger.leases.running()).find((task) => task.task_id === taskId);
    if (running?.lease?.run_id !== runId) continue;
    const ids = { task_id: taskId, run_id: runId };
    const retry = {
      ...ids,
      outcome: 'retry',
      file: `${parts.directory}/${name}`,
      reason: 'worker_alive',
    } as const;
    if (running.process === 'alive' && running.lease.expires_at_ms >= clock.now()) return retry;
    const reclaimed = await ledger.runs.reclaim({ taskId, runId, reason: 'invalid exact journal' });
    if (reclaimed.outcome === 'refused' && reclaimed.reason === 'worker_survived') return retry;
    return moveAside(parts, { ...ids, name, bytes, outcome: 'conflict', reason: 'unreadable' });
  }
  return moveAside(parts, { ...named(name), name, bytes, outcome: 'conflict', reason: 'unreadable' });
}

interface Aside {
  readonly task_id: string | null;
  readonly run_id: string | null;
  readonly name: string;
  readonly bytes: Uint8Array;
  readonly outcome: 'stale' | 'conflict';
  readonly reason: string;
}

async function moveAside(
  { directory, files, clock }: RecoveryParts,
  aside: Aside,
): Promise<RecoveredFile | null> {
  const { name, bytes, ...told } = aside;
  const at = new Date(clock.now()).toISOString();
  for (let attempt = 0; ; attempt += 1) {
    const target = conflictName(name, { at, content: bytes, attempt });
    const moved = await files.move(directory, name, target);
    if (moved === 'gone') return null;
    if (moved === 'moved') return { ...told, file: `${directory}/${target}` };
  }
}
