import type { AppendPlan, AppendRequest } from '../../core/append-plan.ts';
import { planAppend } from '../../core/append-plan.ts';
import { toAppendResult } from '../../core/append-result.ts';
import { derivedId, toLine } from '../../core/dialect.ts';
import type { RecordedEvent } from '../../core/recorded-event.ts';
import type { JsonlDialect } from '../../core/store-url.ts';
import { InvalidEventError } from '../../errors.ts';
import type { AppendOutcome } from '../../ports/event-store.ts';
import { knownEvents } from '../sql/sql-event-store.ts';
import { loadFold } from '../sql/sql-fold.ts';
import { appendCompactFaults, isCompactType } from './compact-faults.ts';
import { appendHead } from './heads-file.ts';
import type { IngestState } from './ingest.ts';
import { asDb, readIngestState } from './ingest.ts';
import type { JsonlContext } from './jsonl-context.ts';
import { assertWritable } from './jsonl-context.ts';
import type { HeldLock } from './lock-file.ts';
import type { IndexWrite } from './log-index.ts';
import { takeAppendLock } from './log-lock.ts';
import { isOwnProcess } from './own-processes.ts';
import type { RootPaths } from './root-paths.ts';
import { rotateLog } from './rotate-log.ts';
import { appendDurably, hasTornTail } from './write-lines.ts';

/** What an append does in the transaction that it writes in. */
export interface AppendWork {
  /** The requests, made when the index shows the whole log. */
  readonly requests: (write: IndexWrite) => Promise<readonly AppendRequest[]>;
  /** Runs once the events are in the log and in the index. */
  readonly finish?: (write: IndexWrite) => Promise<void>;
}

/**
 * Appends to the log. The order of locks: the index's write transaction, which orders our own processes; then the
 * log's append lock, which its owner takes too. The log is written and durable before the index commits, so a
 * crash in between loses nothing: the index reads the lines from the log the next time.
 *
 * @throws StoreError `log_unreadable`, BusyError if a lock is held for too long; nothing was written then.
 */
export async function appendToLog(
  context: JsonlContext,
  work: AppendWork,
): Promise<readonly AppendOutcome[]> {
  assertWritable(context);
  const progress: { lock: HeldLock | null; outcomes: readonly AppendOutcome[] | null } = {
    lock: null,
    outcomes: null,
  };
  try {
    return await context.index.write(async (write) => {
      if (progress.outcomes === null) {
        progress.lock ??= await takeAppendLock(context.paths.live, (pid) => isOwnProcess(write.db, pid));
        await write.follow();
        progress.outcomes = await writeRequests(context, write, await work.requests(write));
      }
      await write.follow();
      await noteHead(context, write, progress.outcomes);
      await work.finish?.(write);
      return progress.outcomes;
    });
  } catch (error) {
    // The events are in the log and durable; that the index could not follow is made up for by its next reader.
    if (progress.outcomes !== null && work.finish === undefined) return progress.outcomes;
    throw error;
  } finally {
    progress.lock?.release();
  }
}

async function noteHead(
  { paths, clock }: JsonlContext,
  { db, context }: IndexWrite,
  outcomes: readonly AppendOutcome[],
): Promise<void> {
  if (!outcomes.some((outcome) => !(outcome instanceof InvalidEventError) && outcome.appended > 0)) return;
  try {
    appendHead(paths, await readIngestState(db, context), new Date(clock.now()).toISOString());
  } catch {
    // A root whose state can't be written takes events all the same; they are covered by the next head.
  }
}

async function writeRequests(
  context: JsonlContext,
  write: IndexWrite,
  requests: readonly AppendRequest[],
): Promise<readonly AppendOutcome[]> {
  const before = await readIngestState(write.db, write.context);
  const dialect = context.dialect ?? before.dialect ?? 'custody';
  const state = await makeReady(context, write, { dialect, before });
  const plan = await planRequests(context, write, { requests, state });
  const lines = toLines(requests, plan, dialect);
  if (lines.length > 0) {
    await copyFaults(context.paths, write, lines);
    appendDurably(context.paths.live, joinLines(lines));
  }
  const ids = idsOfLines(lines, await chainEnd(write));
  return plan.outcomes.map((outcome) =>
    outcome instanceof InvalidEventError
      ? outcome
      : toAppendResult(outcome.events.map((event) => ({ ...event, id: ids.get(event.id) ?? event.id }))),
  );
}

/** Rotates a full log of ours, and gives a cut last line the newline that it lacks, so that the next one stands alone. */
async function makeReady(
  { paths, clock }: JsonlContext,
  write: IndexWrite,
  { dialect, before }: { readonly dialect: JsonlDialect; readonly before: IngestState },
): Promise<IngestState> {
  // A log whose first rows are another program's is rotated by that program.
  if (dialect === 'custody' && before.dialect !== 'ouroboros') rotateLog(paths, clock.now());
  if (!hasTornTail(paths.live)) return before;
  appendDurably(paths.live, Buffer.from('\n'));
  // The line is complete now; if it is a whole row after all, it stands before ours.
  await write.follow();
  return readIngestState(write.db, write.context);
}

async function planRequests(
  { clock, newId }: JsonlContext,
  { db, context }: IndexWrite,
  { requests, state }: { readonly requests: readonly AppendRequest[]; readonly state: IngestState },
): Promise<AppendPlan> {
  const events = requests.flatMap((request) => request.events);
  return planAppend(requests, {
    head: state,
    recordedAt: new Date(clock.now()).toISOString(),
    newId,
    known: await knownEvents(asDb(db), context, events),
    fold: await loadFold(asDb(db), context, events),
  });
}

/** A planned event as it will stand in the log. */
interface PlannedLine {
  readonly event: RecordedEvent;
  /** False if the id is the plan's only: the line does not carry it, and its event gets another. */
  readonly carriesId: boolean;
  readonly bytes: Buffer;
}

function toLines(
  requests: readonly AppendRequest[],
  plan: AppendPlan,
  dialect: JsonlDialect,
): readonly PlannedLine[] {
  const givenIds = new Set(requests.flatMap((request) => request.events.flatMap((event) => event.id ?? [])));
  return plan.stored.map(({ event }) => {
    const carriesId = dialect === 'custody' || givenIds.has(event.id);
    return { event, carriesId, bytes: Buffer.from(toLine(event, dialect, carriesId)) };
  });
}

function joinLines(lines: readonly PlannedLine[]): Buffer {
  const newline = Buffer.from('\n');
  return Buffer.concat(lines.flatMap((line) => [line.bytes, newline]));
}

/** The compact file first: a fault that landed in either stays visible, so one that can't be copied is no failure. */
async function copyFaults(
  paths: RootPaths,
  { db }: IndexWrite,
  lines: readonly PlannedLine[],
): Promise<void> {
  const faults = lines.filter((line) => isCompactType(line.event.type));
  if (faults.length === 0) return;
  try {
    await appendCompactFaults(paths, joinLines(faults), (pid) => isOwnProcess(db, pid));
  } catch {
    // The log takes the row next, and its failure is the caller's to hear.
  }
}

/** The ids that the reader derives for the lines that carry none, by their planned ids. */
function idsOfLines(lines: readonly PlannedLine[], chainOffset: number): ReadonlyMap<string, string> {
  const ids = new Map<string, string>();
  let offset = chainOffset;
  for (const { event, carriesId, bytes } of lines) {
    if (!carriesId) ids.set(event.id, derivedId(offset, bytes));
    offset += bytes.length + 1;
  }
  return ids;
}

/** Bytes of the chain as the index last saw it. */
async function chainEnd({ db }: IndexWrite): Promise<number> {
  const last = await db
    .selectFrom('log_segment')
    .select(['chain_start', 'size'])
    .orderBy('ord', 'desc')
    .limit(1)
    .executeTakeFirst();
  return last === undefined ? 0 : last.chain_start + last.size;
}
