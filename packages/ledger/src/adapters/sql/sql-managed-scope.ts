import type { JsonObject } from '../../core/json.ts';
import { loadedScope } from '../../core/managed/loaded-scope.ts';
import { ManagedFold } from '../../core/managed/managed-fold.ts';
import type { ManagedScope, ManagedSettings, ScopeRequest } from '../../core/managed/scope.ts';
import { parseSettings, SETTINGS_DOCUMENT } from '../../core/managed/settings.ts';
import type { TaskCustody } from '../../core/obligations.ts';
import type { RecordedEvent } from '../../core/recorded-event.ts';
import { isOneOf } from './key-list.ts';
import { parseRecord } from './records.ts';
import { readTaskCustodies } from './sql-custody-reader.ts';
import { knownEvents } from './sql-event-store.ts';
import { loadLeases, loadSubmissions, loadTasks } from './sql-managed-fold.ts';
import { loadOwedQuestions, loadQuestion } from './sql-questions.ts';
import type { Db, SqlContext } from './tables.ts';

/** Holders that are looked at when nothing is ready; more wait for the next claim. */
const MAX_GONE = 20;

/** A scope and the fold that it looks at. */
export interface SqlScope {
  readonly scope: ManagedScope;
  readonly fold: ManagedFold;
}

/** Loads everything that a decision asked for, of the moment that the transaction sees. */
export async function loadScope(
  db: Db,
  context: SqlContext,
  { request, now }: { readonly request: ScopeRequest; readonly now: number },
): Promise<SqlScope> {
  const fold = new ManagedFold();
  const runOwner = request.runId === undefined ? null : await ownerOf(db, context.ledger, request.runId);
  const candidates =
    request.claimableBy === undefined
      ? []
      : await candidatesFor(db, context, { holder: request.claimableBy, now });
  const asker =
    request.questionId === undefined
      ? null
      : await loadQuestion(db, context, { fold, questionId: request.questionId });
  const knownEvent = request.eventId === undefined ? null : await eventOf(db, context, request.eventId);
  const owners = [runOwner, asker, knownEvent?.['task_id']].filter((id) => typeof id === 'string');
  const named = [...new Set([...request.taskIds, ...owners, ...candidates])];
  await loadTasks(db, context, { fold, taskIds: named });
  await loadParents(db, context, { fold, allGenerations: request.ancestors === true });
  const children =
    request.children === true
      ? await loadChildren(db, context, { fold, taskIds: named })
      : new Map<string, string[]>();
  await loadLeases(db, context, { fold, taskIds: named });
  await loadOwedQuestions(db, context, { fold, taskIds: named });
  if (request.idempotencyKey !== undefined)
    await loadSubmissions(db, context, { fold, keys: [request.idempotencyKey] });
  const scope = loadedScope({
    now,
    fold,
    runOwner,
    knownEvent,
    candidates,
    children,
    settings: await loadSettings(db, context.ledger),
    rows: request.rows === true ? await existingRows(db, context, request.taskIds) : new Set(),
    custodies:
      request.evidence === true
        ? await readTaskCustodies(db, context, named)
        : new Map<string, TaskCustody>(),
  });
  return { scope, fold };
}

async function eventOf(db: Db, context: SqlContext, id: string): Promise<RecordedEvent | null> {
  return (await knownEvents(db, context, [{ id }])).get(id) ?? null;
}

async function ownerOf(db: Db, ledger: string, runId: string): Promise<string | null> {
  const row = await db
    .selectFrom('run')
    .select(['task_id', 'first_seq'])
    .where('ledger', '=', ledger)
    .where('run_id', '=', runId)
    .executeTakeFirst();
  return row === undefined || row.first_seq === 0 || row.task_id === '' ? null : row.task_id;
}

async function candidatesFor(
  db: Db,
  { ledger }: SqlContext,
  { holder, now }: { readonly holder: string; readonly now: number },
): Promise<readonly string[]> {
  const ready = await db
    .selectFrom('managed_task')
    .select('task_id')
    .where('ledger', '=', ledger)
    .where('status', '=', 'ready')
    .orderBy('priority', 'desc')
    .orderBy('created_seq')
    .limit(1)
    .executeTakeFirst();
  if (ready !== undefined) return [ready.task_id];
  const gone = await db
    .selectFrom('lease')
    .select('task_id')
    .where('ledger', '=', ledger)
    .where('is_open', '=', 1)
    .where('process', 'is', null)
    .where(({ or, eb }) => or([eb('expires_at_ms', '<', now), eb('holder', '=', holder)]))
    .orderBy('expires_at_ms')
    .limit(MAX_GONE)
    .execute();
  return gone.map((row) => row.task_id);
}

/** Parents of everything in the fold; with all generations also theirs, until nothing is new. */
async function loadParents(
  db: Db,
  context: SqlContext,
  { fold, allGenerations }: { readonly fold: ManagedFold; readonly allGenerations: boolean },
): Promise<void> {
  const asked = new Set<string>();
  for (;;) {
    const parents = [...fold.tasks.values()]
      .flatMap((task) => task.parents)
      .filter((id) => !fold.tasks.has(id) && !asked.has(id));
    if (parents.length === 0) return;
    for (const id of parents) asked.add(id);
    await loadTasks(db, context, { fold, taskIds: [...new Set(parents)] });
    if (!allGenerations) return;
  }
}

async function loadChildren(
  db: Db,
  context: SqlContext,
  { fold, taskIds }: { readonly fold: ManagedFold; readonly taskIds: readonly string[] },
): Promise<Map<string, string[]>> {
  const links = await db
    .selectFrom('task_link')
    .select(['parent_id', 'child_id'])
    .where('ledger', '=', context.ledger)
    .where(isOneOf('parent_id', taskIds, context.flags))
    .orderBy('child_id')
    .execute();
  const children = new Map<string, string[]>();
  for (const link of links)
    children.set(link.parent_id, [...(children.get(link.parent_id) ?? []), link.child_id]);
  await loadTasks(db, context, { fold, taskIds: [...new Set(links.map((link) => link.child_id))] });
  await loadParents(db, context, { fold, allGenerations: false });
  return children;
}

async function loadSettings(db: Db, ledger: string): Promise<ManagedSettings> {
  const row = await db
    .selectFrom('state_document')
    .select('document')
    .where('ledger', '=', ledger)
    .where('name', '=', SETTINGS_DOCUMENT)
    .executeTakeFirst();
  return parseSettings(row === undefined ? null : parseRecord<JsonObject>(row.document));
}

async function existingRows(
  db: Db,
  { ledger, flags }: SqlContext,
  taskIds: readonly string[],
): Promise<ReadonlySet<string>> {
  const rows = await db
    .selectFrom('task_row')
    .select('task_id')
    .where('ledger', '=', ledger)
    .where(isOneOf('task_id', taskIds, flags))
    .execute();
  return new Set(rows.map((row) => row.task_id));
}
