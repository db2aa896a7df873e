import { sql } from 'kysely';
import { keptQuery } from './kept-query.ts';
import type { PendingChanges } from './pending-changes.ts';
import type { Db, SqlContext } from './tables.ts';

/** Holders that are looked at when nothing is ready; more wait for the next claim. */
const MAX_GONE = 20;

/** What claims of one transaction may choose from. */
export interface Claimable {
  /** Ready tasks, the oldest of the highest priority first; as many as there are claims, or all that there are. */
  readonly ready: readonly string[];
  readonly isAll: boolean;
  /** Tasks whose holder may be gone, for the first claim for which no ready task is left. */
  readonly gone: { readonly holder: string; readonly taskIds: readonly string[] } | null;
}

const READY = keptQuery((db) =>
  db
    .selectFrom('managed_task')
    .select('task_id')
    .where('ledger', '=', '')
    .where('status', '=', sql.lit('ready'))
    .orderBy('priority', 'desc')
    .orderBy('created_seq')
    .limit(1),
);

/** Loads what the claims of these holders may choose from. */
export async function loadClaimable(
  db: Db,
  { ledger }: SqlContext,
  { holders, now }: { readonly holders: readonly string[]; readonly now: number },
): Promise<Claimable> {
  if (holders.length === 0) return { ready: [], isAll: false, gone: null };
  const ready = (await READY(db, [ledger, holders.length])).map((row) => row.task_id);
  const holder = holders[ready.length];
  if (holder === undefined) return { ready, isAll: false, gone: null };
  const rows = await db
    .selectFrom('lease')
    .select('task_id')
    .where('ledger', '=', ledger)
    .where('is_open', '=', sql.lit(1))
    .where('process', 'is', null)
    .where(({ or, eb }) => or([eb('expires_at_ms', '<', now), eb('holder', '=', holder)]))
    .orderBy('expires_at_ms')
    .orderBy('task_id')
    .limit(MAX_GONE)
    .execute();
  return { ready, isAll: true, gone: { holder, taskIds: rows.map((row) => row.task_id) } };
}

/** The tasks that a holder could be given after these changes; null if only the store can tell, once it has them. */
export function candidatesOf(
  { ready, isAll, gone }: Claimable,
  holder: string,
  changes: PendingChanges,
): readonly string[] | null {
  if (changes.mayMakeReady) return null;
  const next = ready.find((id) => !changes.hasTask(id));
  if (next !== undefined) return [next];
  // Whose holder may be gone is another question after each claim of that holder.
  return isAll && changes.isEmpty && gone?.holder === holder ? gone.taskIds : null;
}
