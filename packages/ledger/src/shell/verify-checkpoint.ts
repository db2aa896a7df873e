import type { Checkpoint } from '../core/checkpoint.ts';
import { checkpointFault, toCheckpoint } from '../core/checkpoint.ts';
import { chainHash, GENESIS_HASH } from '../core/event-hash.ts';
import type { FrozenDigest } from '../core/frozen-digest.ts';
import { changedFields, parseFrozenLine } from '../core/frozen-digest.ts';
import type { RecordedEvent } from '../core/recorded-event.ts';
import type { TaskRow } from '../core/task-row.ts';
import { CheckpointError, InvalidRowError } from '../errors.ts';
import type { LedgerStore, VerifyProblem } from '../ports/ledger-store.ts';
import { ledgerId } from './take-checkpoint.ts';

/** What is held against the ledger besides what its store knows of itself. */
export interface CheckpointProof {
  /** PEM text of the Ed25519 public key that is trusted. Checks of the log's own checkpoints that name it, too. */
  readonly publicKey: string;
  /** A checkpoint that was kept elsewhere. */
  readonly checkpoint?: Checkpoint;
  /** The list that was written with it: lines without newlines. */
  readonly frozenRows?: AsyncIterable<string>;
}

/** More say nothing new; the first bad place is what counts. */
const MAX_PROBLEMS = 50;

/**
 * What a signed checkpoint says against the ledger. One whose signature is not right vouches for nothing, and
 * nothing is compared with it. @throws CheckpointError `invalid_key`.
 */
export async function verifyCheckpoint(
  store: LedgerStore,
  { publicKey, checkpoint, frozenRows }: CheckpointProof,
): Promise<readonly VerifyProblem[]> {
  const problems = [...(await recordedProblems(store, publicKey))];
  if (checkpoint === undefined) return problems;
  const fault = checkpointFault(checkpoint, publicKey);
  if (fault !== null) return [...problems, fault];
  problems.push(...(await logProblems(store, checkpoint)));
  if (frozenRows !== undefined) problems.push(...(await rowProblems(store, checkpoint, frozenRows)));
  return problems;
}

/** The checkpoints that the log itself tells of: those of the trusted key must be right. */
async function recordedProblems(store: LedgerStore, publicKey: string): Promise<readonly VerifyProblem[]> {
  const problems: VerifyProblem[] = [];
  for await (const { event } of store.events.read({ type: 'ledger.checkpoint' })) {
    if (problems.length >= MAX_PROBLEMS) break;
    for (const problem of await recordedProblem(store, event, publicKey))
      problems.push({ ...problem, seq: event.seq });
  }
  return problems;
}

async function recordedProblem(
  store: LedgerStore,
  event: RecordedEvent,
  publicKey: string,
): Promise<readonly VerifyProblem[]> {
  let checkpoint: Checkpoint;
  try {
    checkpoint = toCheckpoint(event['checkpoint']);
  } catch (error) {
    if (!(error instanceof CheckpointError)) throw error;
    return [{ code: 'checkpoint_altered', message: `the log tells of a checkpoint; ${error.message}` }];
  }
  const fault = checkpointFault(checkpoint, publicKey);
  // Another key may be right as well; who trusts it verifies with it.
  if (fault?.code === 'checkpoint_wrong_key') return [];
  if (fault !== null) return [fault];
  // A copy that came with the events of another ledger tells of that one, whose places were others.
  return checkpoint.ledger_id === (await ledgerId(store)) ? logProblems(store, checkpoint) : [];
}

async function logProblems(store: LedgerStore, checkpoint: Checkpoint): Promise<readonly VerifyProblem[]> {
  const { seq, hash, ledger_id, epoch } = checkpoint;
  const problems: VerifyProblem[] = [];
  const head = await store.events.head();
  if (head.epoch < epoch)
    problems.push({
      code: 'epoch_went_back',
      message: `the epoch is ${head.epoch}, it was ${epoch} when the checkpoint was signed`,
    });
  if (seq === 0) return problems;
  const first = await ledgerId(store);
  if (first !== null && first !== ledger_id)
    return [
      ...problems,
      {
        code: 'other_ledger',
        message: 'the log begins with another event than the one that was signed',
        seq: 1,
      },
    ];
  const found = await hashAt(store, seq);
  if (found === null)
    problems.push({
      code: 'truncated',
      message: `the log ends at ${head.seq}, before event ${seq}, which was signed`,
      seq: head.seq,
    });
  else if (found !== hash)
    problems.push({
      code: 'head_not_in_chain',
      message: `event ${seq} is another one than the one that was signed: the log was forked or rewritten before it`,
      seq,
    });
  return problems;
}

async function hashAt(store: LedgerStore, seq: number): Promise<string | null> {
  for await (const { event } of store.events.read({ after: seq - 1, upTo: seq, limit: 1 })) return event.hash;
  return null;
}

async function rowProblems(
  store: LedgerStore,
  { rows }: Checkpoint,
  lines: AsyncIterable<string>,
): Promise<readonly VerifyProblem[]> {
  const problems: VerifyProblem[] = [];
  let count = 0;
  let hash = GENESIS_HASH;
  for await (const line of lines) {
    count += 1;
    hash = chainHash(hash, line);
    const noted = parseFrozenLine(line);
    if (noted !== null && problems.length < MAX_PROBLEMS) problems.push(...(await rowProblem(store, noted)));
  }
  if (rows !== null && rows.count === count && rows.hash === hash) return problems;
  // A list that was changed says nothing of the rows.
  return [
    {
      code: 'checkpoint_altered',
      message:
        rows === null
          ? 'the checkpoint covers no list of rows'
          : `the list of rows is not the one that was signed: it has ${count} lines of ${rows.count}`,
    },
  ];
}

async function rowProblem(store: LedgerStore, noted: FrozenDigest): Promise<readonly VerifyProblem[]> {
  const { task_id } = noted;
  const row = await loadedRow(store, task_id);
  if (row === null)
    return [{ code: 'row_missing', message: 'the terminal row is gone or can’t be read', task_id }];
  const fields = changedFields(noted, row);
  if (fields.length === 0) return [];
  return [
    {
      code: 'frozen_field_changed',
      message: `${fields.join(', ')} changed since the checkpoint was signed`,
      task_id,
    },
  ];
}

async function loadedRow(store: LedgerStore, taskId: string): Promise<TaskRow | null> {
  try {
    return (await store.rows.load(taskId))?.row ?? null;
  } catch (error) {
    if (error instanceof InvalidRowError) return null;
    throw error;
  }
}
