import { printRawObject } from '../../core/raw-json.ts';
import { withLiveFields } from '../../core/task-row.ts';
import { InvalidEventError, StoreError } from '../../errors.ts';
import type { RowUpdate, RowUpdateResult } from '../../ports/task-rows.ts';
import { appendToLog } from './append-log.ts';
import { replaceFile } from './durable-file.ts';
import type { PlannedHeal } from './heal-intents.ts';
import {
  dropIntents,
  endIntents,
  noteIntents,
  pendingIntents,
  recoverEvidence,
  releaseIntents,
} from './heal-intents.ts';
import type { IndexDb } from './index-tables.ts';
import type { JsonlContext } from './jsonl-context.ts';
import { assertWritable } from './jsonl-context.ts';
import type { IndexWrite } from './log-index.ts';
import type { RowCheck } from './row-checks.ts';
import { lastSeqOf, saveChecks } from './row-checks.ts';
import type { FileStamp, RowFile } from './row-files.ts';
import { hashOf, readRowFile, rowPath, stampOf } from './row-files.ts';
import { takeRowLock } from './row-lock.ts';

/** One update on its way: what it will write, or what became of it already. */
interface Step {
  readonly update: RowUpdate;
  readonly heal: PlannedHeal | null;
  result: RowUpdateResult | null;
  /** How the healed file stands. */
  stamp: FileStamp | null;
}

/**
 * Heals rows: the intents of all in one commit, then row after row under its lock, then the evidence of those
 * that changed in one append. A row that is busy or bad never stops the others.
 */
export async function updateRows(
  context: JsonlContext,
  updates: readonly RowUpdate[],
): Promise<readonly RowUpdateResult[]> {
  assertWritable(context);
  await recoverWhatCan(context);
  const steps = updates.map((update) => planStep(context, update));
  await tryDeclare(context, steps);
  for (const step of steps) step.result ??= await tryWriteRow(context, step);
  await recordEvidence(context, steps);
  return steps.map((step) => step.result ?? { outcome: 'changed_meanwhile' });
}

/** What can't be recovered now stays noted for the next call; it must not stop this one. */
async function recoverWhatCan(context: JsonlContext): Promise<void> {
  try {
    await recoverEvidence(context);
  } catch (error) {
    if (!(error instanceof Error)) throw error;
  }
}

function planStep(context: JsonlContext, update: RowUpdate): Step {
  try {
    const file = readRowFile(context.paths, update.task_id);
    const result = checkRow(file, update);
    if (file === null || result !== null) return { update, heal: null, result, stamp: null };
    const at = update.evidence.at ?? new Date(context.clock.now()).toISOString();
    return {
      update,
      result: null,
      stamp: null,
      heal: {
        id: context.newId(),
        task_id: update.task_id,
        target_hash: hashOf(Buffer.from(healedText(file, update))),
        evidence: { ...update.evidence, at },
      },
    };
  } catch (error) {
    return { update, heal: null, result: failed(error), stamp: null };
  }
}

function checkRow(file: RowFile | null, update: RowUpdate): RowUpdateResult | null {
  if (file === null) return { outcome: 'gone' };
  return file.version === update.expected_version ? null : { outcome: 'changed_meanwhile' };
}

function healedText(file: RowFile, update: RowUpdate): string {
  return printRawObject(withLiveFields(file.row, update.live).raw);
}

function failed(error: unknown): RowUpdateResult {
  return { outcome: 'failed', error: error instanceof Error ? error : new Error(String(error)) };
}

/** Without noted intents no row may be written. */
async function tryDeclare(context: JsonlContext, steps: readonly Step[]): Promise<void> {
  try {
    await declare(context, steps);
  } catch (error) {
    for (const step of steps) step.result ??= failed(error);
  }
}

/** Notes the intents of all updates whose tasks still stand where they were audited. */
async function declare(context: JsonlContext, steps: readonly Step[]): Promise<void> {
  if (steps.every((step) => step.heal === null)) return;
  await context.index.write(async (write) => {
    await followIfReadable(write);
    const heals: PlannedHeal[] = [];
    for (const step of steps) {
      if (step.heal === null) continue;
      if ((await lastSeqOf(write.db, write.context.ledger, step.update.task_id)) === step.update.custody_seq)
        heals.push(step.heal);
      else step.result = { outcome: 'changed_meanwhile' };
    }
    await noteIntents(write, heals);
  });
}

/** With an unreadable log a row can still be told so; what the index saw last is what the audit saw. */
async function followIfReadable(write: IndexWrite): Promise<void> {
  try {
    await write.follow();
  } catch (error) {
    if (!(error instanceof StoreError) || error.code !== 'log_unreadable') throw error;
  }
}

async function tryWriteRow(context: JsonlContext, step: Step): Promise<RowUpdateResult> {
  try {
    return await writeRow(context, step);
  } catch (error) {
    return failed(error);
  }
}

async function writeRow(context: JsonlContext, step: Step): Promise<RowUpdateResult> {
  const { update } = step;
  const lock = await takeRowLock(context, update.task_id);
  try {
    const file = readRowFile(context.paths, update.task_id);
    const result = checkRow(file, update);
    if (file === null || result !== null) return result ?? { outcome: 'gone' };
    const lastSeq = await context.index.read((tables) =>
      lastSeqOf(tables.reader as unknown as IndexDb, tables.ledger, update.task_id),
    );
    if (lastSeq !== update.custody_seq) return { outcome: 'changed_meanwhile' };
    replaceFile(rowPath(context.paths, update.task_id), healedText(file, update), file);
    step.stamp = stampOf(context.paths, update.task_id);
    return { outcome: 'updated', evidence: 'recorded' };
  } finally {
    lock.release();
  }
}

async function recordEvidence(context: JsonlContext, steps: readonly Step[]): Promise<void> {
  const noted = idsOf(steps);
  if (noted.length === 0) return;
  // A write that failed may have happened all the same; whoever finds its intent looks at the row.
  const done = idsOf(steps.filter((step) => step.result?.outcome !== 'failed'));
  const written = steps.filter((step) => step.result?.outcome === 'updated');
  let left: readonly string[] = noted.filter((id) => !done.includes(id));
  try {
    if (written.length === 0) await context.index.write((write) => dropIntents(write, done));
    else await appendEvidence(context, written, done);
  } catch {
    // The heals stand; their evidence stays noted, and the next call that can write the log adds it.
    left = noted;
    for (const step of written) step.result = { outcome: 'updated', evidence: 'missing' };
  }
  await releaseWhatCan(context, { noted, left });
}

function idsOf(steps: readonly Step[]): readonly string[] {
  return steps.flatMap((step) => (step.heal === null ? [] : [step.heal.id]));
}

async function appendEvidence(
  context: JsonlContext,
  written: readonly Step[],
  done: readonly string[],
): Promise<void> {
  let appended: readonly Step[] = [];
  const outcomes = await appendToLog(context, {
    requests: async (write) => {
      // An intent that is gone was settled by somebody who found this call too slow.
      const pending = await pendingIntents(write, done);
      appended = written.filter((step) => step.heal !== null && pending.has(step.heal.id));
      return appended.map((step) => ({ events: step.heal === null ? [] : [step.heal.evidence] }));
    },
    finish: async (write) => {
      await dropIntents(write, done);
      await saveChecks(write, written.flatMap(toCheck));
    },
  });
  for (const [index, outcome] of outcomes.entries()) {
    const step = appended[index];
    if (step !== undefined && outcome instanceof InvalidEventError)
      step.result = { outcome: 'updated', evidence: 'missing' };
  }
}

function toCheck({ update, stamp }: Step): readonly RowCheck[] {
  return update.confirms && stamp !== null
    ? [{ task_id: update.task_id, custody_seq: update.custody_seq, stamp }]
    : [];
}

async function releaseWhatCan(
  context: JsonlContext,
  { noted, left }: { readonly noted: readonly string[]; readonly left: readonly string[] },
): Promise<void> {
  endIntents(noted);
  try {
    await releaseIntents(context, left);
  } catch {
    // They are found by the end of this process instead.
  }
}
