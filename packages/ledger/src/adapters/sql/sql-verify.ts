import { CustodyFold } from '../../core/custody-fold.ts';
import { chainHash, GENESIS_HASH } from '../../core/event-hash.ts';
import type { JsonObject } from '../../core/json.ts';
import { ManagedFold } from '../../core/managed/managed-fold.ts';
import type { RecordedEvent } from '../../core/recorded-event.ts';
import { conflictingVerdictsOf } from '../../core/verdict-note.ts';
import type { VerifyOptions, VerifyProblem, VerifyReport } from '../../ports/ledger-store.ts';
import { readHead } from './read-head.ts';
import { compareManagedTables } from './sql-managed-rebuild.ts';
import { compareTables } from './sql-rebuild.ts';
import { damagedRecords } from './sql-record-store.ts';
import type { Db, SqlContext } from './tables.ts';
import { verifyTaskRows } from './verify-rows.ts';
import { stateFaults, toObject } from './verify-state.ts';

const PAGE = 1000;

/** More faults than this say nothing new; the first bad place is what counts. */
const MAX_PROBLEMS = 50;

interface Walk {
  readonly problems: VerifyProblem[];
  readonly notes: VerifyProblem[];
  readonly fold: CustodyFold | null;
  readonly managed: ManagedFold;
  events: number;
  seq: number;
  hash: string;
}

/** Checks the whole chain in one snapshot, and on demand every table against a replay. */
export async function verifySql(context: SqlContext, options: VerifyOptions): Promise<VerifyReport> {
  return context.reader.transaction().execute(async (db) => {
    const head = await readHead(db, context.ledger);
    const walk: Walk = {
      problems: [],
      notes: [],
      fold: options.rebuild === true ? new CustodyFold() : null,
      managed: new ManagedFold(),
      events: 0,
      seq: 0,
      hash: GENESIS_HASH,
    };
    await walkChain(db, context, walk, options);
    if (head.seq !== walk.seq || head.hash !== walk.hash) {
      walk.problems.push({
        code: 'head_mismatch',
        message: `the head says ${head.seq}, the newest event is ${walk.seq}`,
        seq: head.seq,
      });
    }
    walk.problems.push(...(await stateFaults(db, context.ledger, head)));
    if (options.expectHead !== undefined && options.expectHead.seq > walk.seq) {
      walk.problems.push({
        code: 'truncated',
        message: `the log ends at ${walk.seq}, before the expected ${options.expectHead.seq}`,
        seq: walk.seq,
      });
    }
    if (walk.fold !== null)
      walk.problems.push(
        ...(await compareTables(db, context, walk.fold)),
        ...(await compareManagedTables(db, context, walk.managed)),
        ...(await verifyTaskRows(db, context)),
      );
    walk.problems.push(...(await damagedRecords(db, context)));
    walk.notes.push(...(await noteConflictingVerdicts(db, context)));
    return {
      ok: walk.problems.length === 0,
      events: walk.events,
      head_seq: head.seq,
      head_hash: head.hash,
      problems: walk.problems.slice(0, MAX_PROBLEMS),
      notes: walk.notes,
    };
  });
}

async function walkChain(db: Db, context: SqlContext, walk: Walk, options: VerifyOptions): Promise<void> {
  const page = db
    .selectFrom('event')
    .selectAll()
    .where('ledger', '=', context.ledger)
    .orderBy('seq')
    .limit(PAGE);
  // The first page begins wherever the column does: an event below the first is in nobody's way but still found by id.
  let rows = await page.execute();
  for (;;) {
    for (const row of rows) checkEvent(row, walk, options);
    const after = rows.at(-1)?.seq;
    // Behind a place that is no number of a log any more nothing could be told apart.
    if (after === undefined || rows.length < PAGE || !Number.isSafeInteger(after)) return;
    rows = await page.where('seq', '>', after).execute();
  }
}

interface EventColumns {
  readonly seq: number;
  readonly id: string;
  readonly type: string;
  readonly task_id: string | null;
  readonly run_id: string | null;
  readonly hash: string;
  /** Null or bytes where the column itself was changed. */
  readonly text: unknown;
}

function checkEvent(row: EventColumns, walk: Walk, options: VerifyOptions): void {
  if (row.seq !== walk.seq + 1) {
    walk.problems.push({ code: 'seq_gap', message: `after ${walk.seq} comes ${row.seq}`, seq: row.seq });
  }
  const text = typeof row.text === 'string' ? row.text : '';
  if (chainHash(walk.hash, text) !== row.hash) {
    walk.problems.push({
      code: 'hash_mismatch',
      message: 'the stored text does not continue the chain',
      seq: row.seq,
    });
  }
  const event = toObject(row.text);
  if (event === null) {
    walk.problems.push({ code: 'not_json', message: 'the stored text is not a JSON object', seq: row.seq });
  } else {
    const field = wrongColumn(row, event);
    if (field !== null)
      walk.problems.push({
        code: 'column_mismatch',
        message: `the column ${field} differs from the stored text`,
        seq: row.seq,
      });
    replay({ ...event, hash: row.hash }, walk);
  }
  if (options.expectHead?.seq === row.seq && options.expectHead.hash !== row.hash) {
    walk.problems.push({
      code: 'head_not_in_chain',
      message: 'the expected head has another hash here',
      seq: row.seq,
    });
  }
  walk.events += 1;
  walk.seq = row.seq;
  walk.hash = row.hash;
}

/** An event whose type was made unreadable is named by its column; there is nothing to fold. */
function replay(event: JsonObject, { fold, managed }: Walk): void {
  if (fold === null || typeof event['type'] !== 'string') return;
  fold.apply(event as RecordedEvent);
  managed.apply(event as RecordedEvent);
}

function wrongColumn(row: EventColumns, event: JsonObject): string | null {
  const columns = { seq: row.seq, id: row.id, type: row.type, task_id: row.task_id, run_id: row.run_id };
  for (const [name, value] of Object.entries(columns)) {
    const told = event[name];
    const expected = (typeof told === 'string' && told !== '') || typeof told === 'number' ? told : null;
    if (expected !== value) return name;
  }
  return null;
}

/** Verdicts that came after the first and differ: in the log, never applied. */
export async function noteConflictingVerdicts(
  db: Db,
  { ledger }: SqlContext,
): Promise<readonly VerifyProblem[]> {
  const rows = await db
    .selectFrom('run')
    .select(['run_id', 'task_id'])
    .where('ledger', '=', ledger)
    .where('record', 'like', '%"conflicting_verdicts":%')
    .limit(MAX_PROBLEMS)
    .execute();
  return rows.map(conflictingVerdictsOf);
}
