import { printRawObject } from '../../core/raw-json.ts';
import type { TaskRow } from '../../core/task-row.ts';
import { parseTaskRow } from '../../core/task-row.ts';
import type {
  LoadedRow,
  OwnTaskRows,
  RowProblem,
  RowPutResult,
  RowUpdateResult,
} from '../../ports/task-rows.ts';
import type { HttpChannel } from './http-channel.ts';
import { toLedgerError, toldFailure } from './remote-error.ts';

/** Characters of rows that are put with one request; rows stand each on their own. */
const PIECE = 4 * 1024 * 1024;

interface LoadedJson {
  readonly task_id: string;
  /** The exact text of the document. */
  readonly text: string;
  readonly version: string;
}

/** Rows of a served ledger. Every number keeps its spelling on the way. */
export function httpRows(channel: HttpChannel): OwnTaskRows {
  return {
    load: async (taskId) => {
      const { status, body } = await channel.ask({ path: `/ports/rows/${encodeURIComponent(taskId)}` });
      return status === 404 ? null : toLoaded(body as LoadedJson);
    },
    loadMany: async (taskIds) => {
      const answer = await channel.ask({
        method: 'POST',
        path: '/ports/rows/load',
        body: { task_ids: taskIds },
      });
      const { rows } = answer.body as { readonly rows: readonly LoadedJson[] };
      return new Map(rows.map((row) => [row.task_id, toLoaded(row)]));
    },
    selectStale: async () => {
      const { body } = await channel.ask({ path: '/ports/rows/stale' });
      return (body as { readonly task_ids: readonly string[] }).task_ids;
    },
    update: async (updates) => {
      if (updates.length === 0) return [];
      const { body } = await channel.ask({
        method: 'POST',
        path: '/ports/rows/update',
        body: { updates },
        writes: true,
      });
      return (body as { readonly results: readonly RowUpdateResult[] }).results.map(toUpdateResult);
    },
    confirm: async (rows) => {
      await channel.ask({ method: 'POST', path: '/ports/rows/confirm', body: { rows }, writes: true });
    },
    count: async () => {
      const { body } = await channel.ask({ path: '/ports/rows/count' });
      return (body as { readonly count: number }).count;
    },
    put: async (rows) => {
      const results: RowPutResult[] = [];
      for (const lines of piecesOf(rows)) {
        const { body } = await channel.ask({ method: 'PUT', path: '/tasks', lines, writes: true });
        results.push(...(body as { readonly results: readonly RowPutResult[] }).results);
      }
      return results;
    },
    list: ({ status, onProblem }) => listRows(channel, status, onProblem),
  };
}

async function* listRows(
  channel: HttpChannel,
  status: string | undefined,
  onProblem: ((problem: RowProblem) => void) | undefined,
): AsyncGenerator<LoadedRow, void> {
  for await (const line of channel.lines({ path: '/ports/rows', query: { status } })) {
    const item = JSON.parse(line) as LoadedJson | { readonly problem: RowProblem };
    if ('problem' in item) onProblem?.(item.problem);
    else yield toLoaded(item);
  }
}

function toLoaded({ task_id, text, version }: LoadedJson): LoadedRow {
  return { row: parseTaskRow(text, task_id), version };
}

function toUpdateResult(result: RowUpdateResult): RowUpdateResult {
  if (result.outcome !== 'failed') return result;
  const failure = toldFailure(result);
  return {
    outcome: 'failed',
    error: failure === null ? new Error('the row could not be written') : toLedgerError(failure),
  };
}

/** Rows as JSON Lines, some thousand at a time. A document may be laid out over many lines; here it has one. */
function* piecesOf(rows: readonly TaskRow[]): Generator<string, void> {
  let piece = '';
  for (const row of rows) {
    piece += `${lineOf(row)}\n`;
    if (piece.length < PIECE) continue;
    yield piece;
    piece = '';
  }
  if (piece !== '') yield piece;
}

function lineOf(row: TaskRow): string {
  return oneLine(printRawObject(new Map([...row.raw, ['task_id', JSON.stringify(row.task_id)]])));
}

/** Between the parts of JSON a line end means nothing, and inside of a text there is none. */
function oneLine(text: string): string {
  return text.replaceAll(/[\r\n]+\s*/g, ' ');
}
