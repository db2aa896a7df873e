import { isSameEvent } from '../../core/event-builder.ts';
import type { JsonObject } from '../../core/json.ts';
import type { NewEvent } from '../../core/recorded-event.ts';
import { InvalidEventError } from '../../errors.ts';
import { readHead } from '../sql/read-head.ts';
import { toStoredEvent } from '../sql/records.ts';
import { appendToLog } from './append-log.ts';
import type { IndexTables } from './index-tables.ts';
import { asDb } from './ingest.ts';
import type { JsonlContext } from './jsonl-context.ts';
import { isGone } from './lock-file.ts';
import type { IndexWrite } from './log-index.ts';
import type { RootPaths } from './root-paths.ts';
import { canBeFileName, readRowBytes } from './row-files.ts';

// A row and the log are two files, so no write changes both. Before a row is healed its evidence is noted here as
// an intent. Afterwards the evidence is appended and the intent dropped in one transaction of the index. Whoever
// finds an intent of a process that is gone looks at the row: if it was healed and the log does not say so, the
// evidence is appended now, marked `recovered`; otherwise nothing happened and the intent is dropped.

/** A heal whose evidence is not yet known to be in the log. */
type Intent = IndexTables['heal_intent'];

/** What a heal is about to write. */
export interface PlannedHeal {
  readonly id: string;
  readonly task_id: string;
  /** sha256 of the row's file once it is healed. */
  readonly target_hash: string;
  readonly evidence: NewEvent;
}

/** Intents of calls that are running in this process; nobody else may judge them yet. */
const running = new Set<string>();

/** No call takes this long; an older intent was left behind, even if its process id is in use again. */
const ABANDONED_MS = 600_000;

/** Notes what is about to be healed, in the caller's transaction. */
export async function noteIntents(write: IndexWrite, heals: readonly PlannedHeal[]): Promise<void> {
  const head = await readHead(asDb(write.db), write.context.ledger);
  for (const { id, task_id, target_hash, evidence } of heals) {
    running.add(id);
    await write.db
      .insertInto('heal_intent')
      .values({
        id,
        task_id,
        target_hash,
        event: JSON.stringify(evidence),
        owner_pid: process.pid,
        created_at_ms: Date.now(),
        after_seq: head.seq,
        incarnation: head.incarnation,
      })
      .execute();
  }
}

/** Tells that a call of this process is over; what it left behind is abandoned. */
export function endIntents(ids: readonly string[]): void {
  for (const id of ids) running.delete(id);
}

/** Tells the other processes too. */
export async function releaseIntents(context: JsonlContext, ids: readonly string[]): Promise<void> {
  if (ids.length === 0) return;
  await context.index.write(async ({ db }) => {
    for (const id of ids)
      await db.updateTable('heal_intent').set({ owner_pid: 0 }).where('id', '=', id).execute();
  });
}

/** Drops intents, in the caller's transaction. */
export async function dropIntents({ db }: IndexWrite, ids: readonly string[]): Promise<void> {
  for (const id of ids) await db.deleteFrom('heal_intent').where('id', '=', id).execute();
}

/** The intents of a call that nobody else settled meanwhile. */
export async function pendingIntents(
  { db }: IndexWrite,
  ids: readonly string[],
): Promise<ReadonlySet<string>> {
  const rows = await db.selectFrom('heal_intent').select('id').execute();
  const known = new Set(rows.map((row) => row.id));
  return new Set(ids.filter((id) => known.has(id)));
}

/** Settles what earlier calls left behind. Returns how many events were missing and are in the log now. */
export async function recoverEvidence(context: JsonlContext): Promise<number> {
  const left = await context.index.readUnsynced((tables) =>
    (tables.reader as unknown as IndexWrite['db']).selectFrom('heal_intent').selectAll().execute(),
  );
  if (!left.some(isAbandoned)) return 0;
  const settled: string[] = [];
  const outcomes = await appendToLog(context, {
    requests: async (write) => {
      const intents = (await write.db.selectFrom('heal_intent').selectAll().execute()).filter(isAbandoned);
      settled.splice(0, settled.length, ...intents.map((intent) => intent.id));
      const missing: NewEvent[] = [];
      for (const intent of intents)
        if (await isEvidenceMissing(context.paths, write, intent)) missing.push(recoveredEvent(intent));
      return missing.map((event) => ({ events: [event] }));
    },
    finish: (write) => dropIntents(write, settled),
  });
  return outcomes.filter((outcome) => !(outcome instanceof InvalidEventError)).length;
}

function isAbandoned(intent: Intent): boolean {
  if (running.has(intent.id)) return false;
  return (
    intent.owner_pid === 0 ||
    intent.owner_pid === process.pid ||
    isGone(intent.owner_pid) ||
    Date.now() - intent.created_at_ms > ABANDONED_MS
  );
}

function recoveredEvent(intent: Intent): NewEvent {
  return { ...(JSON.parse(intent.event) as NewEvent), recovered: true };
}

async function isEvidenceMissing(paths: RootPaths, write: IndexWrite, intent: Intent): Promise<boolean> {
  if (hashOfRow(paths, intent.task_id) !== intent.target_hash) return false;
  const event = JSON.parse(intent.event) as NewEvent;
  const head = await readHead(asDb(write.db), write.context.ledger);
  // After a replay the numbers may differ; the content with its time tells the event apart as well.
  const after = head.incarnation === intent.incarnation ? intent.after_seq : 0;
  const rows = await write.db
    .selectFrom('event')
    .select(['text', 'hash'])
    .where('ledger', '=', write.context.ledger)
    .where('task_id', '=', intent.task_id)
    .where('type', '=', event.type)
    .where('seq', '>', after)
    .execute();
  return !rows.some((row) => {
    const { recovered: _recovered, ...recorded } = toStoredEvent(row).event as JsonObject;
    return isSameEvent(recorded as never, event);
  });
}

function hashOfRow(paths: RootPaths, taskId: string): string | null {
  if (!canBeFileName(taskId)) return null;
  try {
    return readRowBytes(paths, taskId)?.version ?? null;
  } catch {
    return null;
  }
}
