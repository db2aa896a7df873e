import type { CustodyFold } from '../../core/custody-fold.ts';
import type { LineEvent } from '../../core/dialect.ts';
import { derivedId, readLine, toGivenEvent, toPlacedEvent } from '../../core/dialect.ts';
import { isSameEvent } from '../../core/event-builder.ts';
import { chainHash } from '../../core/event-hash.ts';
import type { RecordedEvent, StoredEvent } from '../../core/recorded-event.ts';
import type { JsonlDialect } from '../../core/store-url.ts';
import { readHead } from '../sql/read-head.ts';
import { insertEvents, knownEvents, moveHead } from '../sql/sql-event-store.ts';
import { loadFold, saveFold } from '../sql/sql-fold.ts';
import type { Db, SqlContext } from '../sql/tables.ts';
import type { IndexDb } from './index-tables.ts';

/** One line that may be a custody row, with its place. */
export interface ChainLine {
  /** Offset in the chain of the line's first byte. */
  readonly offset: number;
  /** Without the newline. */
  readonly bytes: Buffer;
}

/** A row whose id stands for another event already: it is in the log, and no event. */
export interface IdConflict {
  readonly id: string;
  readonly offset: number;
  readonly recorded_seq: number;
}

/** What the lines read so far leave for those that follow. */
export interface IngestState {
  seq: number;
  hash: string;
  epoch: number;
  lastAt: string;
  dialect: JsonlDialect | null;
}

/** Where the index stands. */
export async function readIngestState(db: IndexDb, context: SqlContext): Promise<IngestState> {
  const head = await readHead(asDb(db), context.ledger);
  const state = await db
    .selectFrom('log_state')
    .select(['dialect', 'last_at'])
    .where('id', '=', 1)
    .executeTakeFirstOrThrow();
  return { seq: head.seq, hash: head.hash, epoch: head.epoch, lastAt: state.last_at, dialect: state.dialect };
}

/** The index seen as a ledger's database: it has every table of one. */
export function asDb(db: IndexDb): Db {
  return db as unknown as Db;
}

/** Puts lines into the tables, behind what is there; returns their events, and the rows whose ids were taken. */
export async function ingest(
  db: IndexDb,
  context: SqlContext,
  { state, lines }: { readonly state: IngestState; readonly lines: readonly ChainLine[] },
): Promise<{ readonly events: readonly StoredEvent[]; readonly conflicts: readonly IdConflict[] }> {
  const rows = lines.flatMap((line) => toRow(line));
  const given = rows.flatMap((row) => (row.event.id === null ? [] : { id: row.event.id }));
  const batch: Batch = { known: await knownEvents(asDb(db), context, given), events: [], conflicts: [] };
  for (const row of rows) placeRow(row, state, batch);
  if (batch.events.length > 0) {
    await insertEvents(asDb(db), context, batch.events);
    await foldEvents(
      asDb(db),
      context,
      batch.events.map((item) => item.event),
    );
    await moveHead(asDb(db), context, batch.events);
    await db
      .updateTable('log_state')
      .set({ dialect: state.dialect, last_at: state.lastAt })
      .where('id', '=', 1)
      .execute();
  }
  return batch;
}

interface Row {
  readonly line: ChainLine;
  readonly event: LineEvent;
}

interface Batch {
  readonly known: Map<string, RecordedEvent>;
  readonly events: StoredEvent[];
  readonly conflicts: IdConflict[];
}

function toRow(line: ChainLine): readonly Row[] {
  const reading = readLine(line.bytes.toString('utf8'));
  return reading.kind === 'event' ? [{ line, event: reading.event }] : [];
}

function placeRow({ line, event }: Row, state: IngestState, batch: Batch): void {
  state.dialect ??= event.dialect;
  const twin = event.id === null ? undefined : batch.known.get(event.id);
  // In the custody dialect an id makes an append idempotent; elsewhere a repeated row is a row.
  if (twin !== undefined && event.dialect === 'custody') {
    if (!isSameEvent(twin, toGivenEvent(event)))
      batch.conflicts.push({ id: twin.id, offset: line.offset, recorded_seq: twin.seq });
    return;
  }
  const id = event.id === null || twin !== undefined ? derivedId(line.offset, line.bytes) : event.id;
  const placed = toPlacedEvent(event, {
    seq: state.seq + 1,
    id,
    hash: chainHash(state.hash, line.bytes),
    epoch: state.epoch,
    previousAt: state.lastAt,
  });
  batch.events.push(placed);
  batch.known.set(id, placed.event);
  state.seq += 1;
  state.hash = placed.event.hash;
  state.lastAt = placed.event.at;
}

async function foldEvents(db: Db, context: SqlContext, events: readonly RecordedEvent[]): Promise<void> {
  const fold: CustodyFold = await loadFold(db, context, events);
  for (const event of events) fold.apply(event);
  await saveFold(db, context, fold);
}
