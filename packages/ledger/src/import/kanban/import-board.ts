import type { ForeignDatabase } from '../../adapters/sqlite/foreign-database.ts';
import { isId } from '../../core/ids.ts';
import type { JsonObject } from '../../core/json.ts';
import { parseNewEvent } from '../../core/parse-event.ts';
import { parseTaskRow } from '../../core/task-row.ts';
import { InvalidEventError, InvalidRowError } from '../../errors.ts';
import type { Ledger } from '../../shell/ledger.ts';
import { EventSink } from '../event-sink.ts';
import type { ImportOptions, ImportResult } from '../import-result.ts';
import type { Mapped } from './board-events.ts';
import { endOf, isHistory, noteOf, recordOf, rowOf, startOf } from './board-events.ts';
import type { BoardRow } from './board-values.ts';
import { integerIn, textIn } from './board-values.ts';

/** The tables by which a board is known. */
export const BOARD_TABLES = ['tasks', 'task_runs', 'task_events'] as const;

/** About what an event weighs, so that a batch is not too large. */
const WEIGHT = 500;

/**
 * Imports a board of the Hermes kanban as observed tasks: the start and the end of each run, its history under types
 * of its own (`x.kanban.*`), and the rows. Everything is ordered by the board's ids, never by its clock.
 */
export async function importBoard(
  ledger: Ledger,
  board: ForeignDatabase,
  { place, options }: { readonly place: string; readonly options: ImportOptions },
): Promise<ImportResult> {
  const total = BOARD_TABLES.reduce((sum, table) => sum + board.count(table), 0);
  const sink = new EventSink(ledger, total, options);
  const reader = new BoardReader(sink, place);
  const runs = [...board.rows('task_runs', 'id')];
  const last = new Map<string, BoardRow>();
  const cursor = { events: 0, runs: integerIn(runs.at(-1) ?? {}, 'id') ?? 0 };
  const order = new RunOrder(runs);
  for (const entry of board.rows('task_events', 'id')) {
    for (const mapped of order.before(entry)) await reader.take(mapped);
    await reader.take(noteOf(entry));
    const taskId = textIn(entry, 'task_id');
    if (taskId !== null && isHistory(textIn(entry, 'kind') ?? '')) last.set(taskId, entry);
    cursor.events = integerIn(entry, 'id') ?? cursor.events;
  }
  for (const mapped of order.rest()) await reader.take(mapped);
  const rows = await recordTasks(board, last, { reader, sink, place });
  await sink.flush(total);
  for (const row of rows) await putRow(ledger, row, { sink, place });
  return { ...sink.result(total), cursor };
}

/** Records every task as it stands now; gives back their rows. */
async function recordTasks(
  board: ForeignDatabase,
  last: ReadonlyMap<string, BoardRow>,
  { reader, sink, place }: { readonly reader: BoardReader; readonly sink: EventSink; readonly place: string },
): Promise<readonly JsonObject[]> {
  const rows: JsonObject[] = [];
  for (const task of board.rows('tasks', 'id')) {
    const row = rowOf(task);
    if (row === null || !isId(row.task_id)) sink.skip('invalid', 'task without an id or a status', { place });
    else {
      rows.push(row);
      await reader.take({ event: recordOf(row, last.get(row.task_id) ?? null) });
    }
  }
  return rows;
}

/** Hands mapped events to a sink, or counts why there is none. */
class BoardReader {
  readonly #sink: EventSink;
  readonly #place: string;
  #done = 0;

  constructor(sink: EventSink, place: string) {
    this.#sink = sink;
    this.#place = place;
  }

  async take(mapped: Mapped): Promise<void> {
    this.#done += 1;
    if ('skipped' in mapped) {
      this.#sink.skip(
        mapped.skipped,
        mapped.reason,
        mapped.skipped === 'invalid' ? { place: this.#place } : null,
      );
      return;
    }
    try {
      const event = parseNewEvent(mapped.event, 0);
      await this.#sink.add(
        { event, place: this.#place, line: 0 },
        { characters: WEIGHT, bytesDone: this.#done },
      );
    } catch (error) {
      if (!(error instanceof InvalidEventError)) throw error;
      const { task_id } = mapped.event;
      this.#sink.skip('invalid', `not an event of this ledger: ${error.field ?? 'event'}`, {
        place: this.#place,
        ...(task_id === undefined || !isId(task_id) ? {} : { task_id }),
        message: error.message,
      });
    }
  }
}

/** Puts the starts and ends of runs between the entries of a history, by ids. */
class RunOrder {
  readonly #waiting: BoardRow[];
  readonly #open = new Map<number, BoardRow>();

  constructor(runs: readonly BoardRow[]) {
    this.#waiting = [...runs].reverse();
  }

  /**
   * What comes before an entry: the starts of all runs up to the one that it names, and the ends of those of its task
   * that this run followed.
   */
  *before(entry: BoardRow): Generator<Mapped, void> {
    const run = integerIn(entry, 'run_id');
    if (run === null) return;
    while ((integerIn(this.#waiting.at(-1) ?? {}, 'id') ?? Number.POSITIVE_INFINITY) <= run) {
      const next = this.#waiting.pop();
      if (next !== undefined) yield* this.#begin(next);
    }
  }

  *rest(): Generator<Mapped, void> {
    for (let next = this.#waiting.pop(); next !== undefined; next = this.#waiting.pop())
      yield* this.#begin(next);
    for (const [id, run] of this.#open) yield* this.#end(id, run);
  }

  *#begin(run: BoardRow): Generator<Mapped, void> {
    for (const [id, other] of this.#open)
      if (other['task_id'] === run['task_id']) yield* this.#end(id, other);
    yield startOf(run);
    const id = integerIn(run, 'id');
    if (id !== null) this.#open.set(id, run);
  }

  *#end(id: number, run: BoardRow): Generator<Mapped, void> {
    this.#open.delete(id);
    const end = endOf(run);
    if (end !== null) yield end;
  }
}

async function putRow(
  ledger: Ledger,
  row: JsonObject,
  { sink, place }: { readonly sink: EventSink; readonly place: string },
): Promise<void> {
  const message = await refusalOf(ledger, row, sink);
  if (message === null) return;
  sink.counts.rowsSkipped += 1;
  sink.report({ place, task_id: String(row['task_id']), message });
}

/** Why a row was not taken; null if it was, or if the ledger has it already. */
async function refusalOf(ledger: Ledger, row: JsonObject, sink: EventSink): Promise<string | null> {
  try {
    const [result] = await ledger.rows.put([parseTaskRow(JSON.stringify(row))]);
    if (result?.outcome === 'written') sink.counts.rowsWritten += 1;
    return result?.outcome === 'refused'
      ? `the ledger's row differs in ${result.fields.join(', ')}, which nothing changes any more`
      : null;
  } catch (error) {
    if (error instanceof InvalidRowError) return error.message;
    throw error;
  }
}
