import { cursorBatch } from './cursor.ts';
import type { Fold } from './fold.ts';
import { foldRoot } from './fold.ts';
import { healed, isTerminal } from './heal.ts';
import type { JsonObject } from './json.ts';
import { liveFields, readRows } from './rows.ts';

/** What the healing passes do to a data root, told without doing it. */
export interface OracleAnswer {
  readonly backfill: { readonly refreshed: string[] };
  readonly rows_after_backfill: JsonObject;
  /** One cursor pass after the backfill, liveness unknown. */
  readonly cursor: CursorAnswer;
  readonly rows_after_cursor: JsonObject;
  /** One cursor pass and nothing before it. */
  readonly cursor_alone: CursorAnswer;
  readonly rows_after_cursor_alone: JsonObject;
}

interface CursorAnswer {
  readonly deferred: string[];
  readonly refreshed: string[];
}

type Rows = Map<string, JsonObject>;

/** The right answers for a data root. It is only read. */
export function oracleOf(root: string): OracleAnswer {
  const fold = foldRoot(root);
  const backfilled = readRows(root);
  const backfill = { refreshed: backfillRows(fold, backfilled) };
  const afterBackfill = allLive(backfilled);
  const cursor = passCursor(fold, backfilled, cursorBatch(root));
  const alone = readRows(root);
  const cursorAlone = passCursor(fold, alone, cursorBatch(root));
  return {
    backfill,
    rows_after_backfill: afterBackfill,
    cursor,
    rows_after_cursor: allLive(backfilled),
    cursor_alone: cursorAlone,
    rows_after_cursor_alone: allLive(alone),
  };
}

/** Heals all rows in place; the answer names those that changed. */
function backfillRows(fold: Fold, rows: Rows): string[] {
  return [...rows.keys()].filter((taskId) => refresh(fold, rows, { taskId, trigger: 'boot_backfill' }));
}

/** One cursor pass over rows in place, for a batch of tasks of which none is known to be live. */
function passCursor(fold: Fold, rows: Rows, batch: readonly string[]): CursorAnswer {
  const isSettled = (taskId: string) => isTerminal(rows.get(taskId) ?? {});
  const refreshed = batch.filter((taskId) => refresh(fold, rows, { taskId, trigger: 'sweep_refresh' }));
  return { deferred: batch.filter((taskId) => !isSettled(taskId)), refreshed };
}

function refresh(fold: Fold, rows: Rows, about: { taskId: string; trigger: string }): boolean {
  const next = healed(fold, rows.get(about.taskId) ?? {}, about);
  if (next !== null) rows.set(about.taskId, next);
  return next !== null;
}

function allLive(rows: Rows): JsonObject {
  return Object.fromEntries([...rows].map(([taskId, row]) => [taskId, liveFields(row)]));
}
