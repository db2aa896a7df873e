import { sql } from 'kysely';
import type { JsonObject } from '../../core/json.ts';
import { loadedScope, namedTasks } from '../../core/managed/loaded-scope.ts';
import { ManagedFold } from '../../core/managed/managed-fold.ts';
import type { ManagedScope, ManagedSettings, ScopeRequest } from '../../core/managed/scope.ts';
import { parseSettings, SETTINGS_DOCUMENT } from '../../core/managed/settings.ts';
import type { TaskCustody } from '../../core/obligations.ts';
import type { RecordedEvent } from '../../core/recorded-event.ts';
import { gather } from './gather.ts';
import { keptQuery, keyedQuery } from './kept-query.ts';
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
  const [runOwner, candidates, asker, knownEvent, settings] = await gather(context.flags, [
    async () => (request.runId === undefined ? null : ownerOf(db, context.ledger, request.runId)),
    async () =>
      request.claimableBy === undefined
        ? []
        : candidatesFor(db, context, { holder: request.claimableBy, now }),
    async () =>
      request.questionId === undefined
        ? null
        : loadQuestion(db, context, { fold, questionId: request.questionId }),
    async () => (request.eventId === undefined ? null : eventOf(db, context, request.eventId)),
    () => loadSettings(db, context.ledger),
  ]);
  const named = namedTasks(request, { runOwner, asker, knownEvent, candidates });
  const [children, rows, custodies] = await gather(context.flags, [
    () => loadFamily(db, context, { fold, request, named }),
    async () => (request.rows === true ? existingRows(db, context, request.taskIds) : new Set<string>()),
    async () =>
      request.evidence === true ? readTaskCustodies(db, context, named) : new Map<string, TaskCustody>(),
    () => loadLeases(db, context, { fold, taskIds: named }),
    async () =>
      request.idempotencyKey === undefined ||
      loadSubmissions(db, context, { fold, keys: [request.idempotencyKey] }),
  ]);
  const scope = loadedScope({
    now,
    fold,
    runOwner,
    knownEvent,
    candidates,
    children,
    settings,
    rows,
    custodies,
  });
  return { scope, fold };
}

/** The named tasks with those that they wait for or that wait for them, and what they have asked. */
async function loadFamily(
  db: Db,
  context: SqlContext,
  {
    fold,
    request,
    named,
  }: { readonly fold: ManagedFold; readonly request: ScopeRequest; readonly named: readonly string[] },
): Promise<Map<string, string[]>> {
  await loadTasks(db, context, { fold, taskIds: named });
  await loadParents(db, context, { fold, allGenerations: request.ancestors === true });
  const children =
    request.children === true
      ? await loadChildren(db, context, { fold, taskIds: named })
      : new Map<string, string[]>();
  await loadOwedQuestions(db, context, { fold, taskIds: named });
  return children;
}

async function eventOf(db: Db, context: SqlContext, id: string): Promise<RecordedEvent | null> {
  return (await knownEvents(db, context, [{ id }])).get(id) ?? null;
}

const OWNER = keptQuery((db) =>
  db.selectFrom('run').select(['task_id', 'first_seq']).where('ledger', '=', '').where('run_id', '=', ''),
);

async function ownerOf(db: Db, ledger: string, runId: string): Promise<string | null> {
  const [row] = await OWNER(db, [ledger, runId]);
  return row === undefined || row.first_seq === 0 || row.task_id === '' ? null : row.task_id;
}

const READY = keptQuery((db) =>
  db
    .selectFrom('managed_task')
    .select('task_id')
    .where('ledger', '=', '')
    .where('status', '=', sql.lit('ready'))
    .orderBy('priority', 'desc')
    .orderBy('created_seq')
    .limit(sql.lit(1)),
);

async function candidatesFor(
  db: Db,
  { ledger }: SqlContext,
  { holder, now }: { readonly holder: string; readonly now: number },
): Promise<readonly string[]> {
  const [ready] = await READY(db, [ledger]);
  if (ready !== undefined) return [ready.task_id];
  const gone = await db
    .selectFrom('lease')
    .select('task_id')
    .where('ledger', '=', ledger)
    .where('is_open', '=', sql.lit(1))
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

const CHILDREN = keyedQuery((db, isKey) =>
  db
    .selectFrom('task_link')
    .select(['parent_id', 'child_id'])
    .where('ledger', '=', '')
    .where(isKey('parent_id'))
    .orderBy('child_id'),
);

async function loadChildren(
  db: Db,
  context: SqlContext,
  { fold, taskIds }: { readonly fold: ManagedFold; readonly taskIds: readonly string[] },
): Promise<Map<string, string[]>> {
  const links = await CHILDREN(db, context, taskIds);
  const children = new Map<string, string[]>();
  for (const link of links)
    children.set(link.parent_id, [...(children.get(link.parent_id) ?? []), link.child_id]);
  await loadTasks(db, context, { fold, taskIds: [...new Set(links.map((link) => link.child_id))] });
  await loadParents(db, context, { fold, allGenerations: false });
  return children;
}

const DOCUMENT = keptQuery((db) =>
  db.selectFrom('state_document').select('document').where('ledger', '=', '').where('name', '=', ''),
);

async function loadSettings(db: Db, ledger: string): Promise<ManagedSettings> {
  const [row] = await DOCUMENT(db, [ledger, SETTINGS_DOCUMENT]);
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
