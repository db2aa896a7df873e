import type { JsonObject } from '../../core/json.ts';
import { loadedScope, namedTasks } from '../../core/managed/loaded-scope.ts';
import { ManagedFold } from '../../core/managed/managed-fold.ts';
import type { ManagedScope, ManagedSettings, ScopeRequest } from '../../core/managed/scope.ts';
import { parseSettings, SETTINGS_DOCUMENT } from '../../core/managed/settings.ts';
import type { TaskCustody } from '../../core/obligations.ts';
import { gather } from './gather.ts';
import { keptQuery, keyedQuery } from './kept-query.ts';
import { isOneOf } from './key-list.ts';
import { PendingChanges } from './pending-changes.ts';
import { parseRecord } from './records.ts';
import { candidatesOf, loadClaimable } from './sql-claimable.ts';
import { readTaskCustodies } from './sql-custody-reader.ts';
import { knownEvents } from './sql-event-store.ts';
import { loadLeases, loadSubmissions, loadTasks } from './sql-managed-fold.ts';
import { loadOwedQuestions, loadQuestions } from './sql-questions.ts';
import type { Db, SqlContext } from './tables.ts';

/** A scope, and the tasks that its request is about. */
interface NamedScope {
  readonly scope: ManagedScope;
  readonly named: readonly string[];
}

/** What decisions of one transaction asked for, of the moment before any of them. */
export interface LoadedScopes {
  readonly fold: ManagedFold;
  /**
   * The scope of one of the requests as it is once the changes are written; null if they change something that it
   * reads. Never null without changes, for the first request.
   */
  scopeOf(request: ScopeRequest, changes: PendingChanges): NamedScope | null;
}

/** Loads everything that one request asked for, of the moment that the transaction sees. */
export async function loadScope(
  db: Db,
  context: SqlContext,
  { request, now }: { readonly request: ScopeRequest; readonly now: number },
): Promise<ManagedScope> {
  const loaded = await loadScopes(db, context, { requests: [request], now });
  const found = loaded.scopeOf(request, new PendingChanges());
  if (found === null) throw new Error('a scope without changes was not told');
  return found.scope;
}

/** Loads everything that requests asked for, each record once. */
export async function loadScopes(
  db: Db,
  context: SqlContext,
  { requests, now }: { readonly requests: readonly ScopeRequest[]; readonly now: number },
): Promise<LoadedScopes> {
  const fold = new ManagedFold();
  const holders = requests.flatMap((request) => request.claimableBy ?? []);
  const eventIds = requests.flatMap(({ eventId }) => (eventId === undefined ? [] : [{ id: eventId }]));
  const [owners, claimable, , known, settings] = await gather(context.flags, [
    () => loadOwners(db, context, { runIds: requests.flatMap((request) => request.runId ?? []) }),
    () => loadClaimable(db, context, { holders, now }),
    () =>
      loadQuestions(db, context, {
        fold,
        questionIds: requests.flatMap((request) => request.questionId ?? []),
      }),
    () => knownEvents(db, context, eventIds),
    () => loadSettings(db, context.ledger),
  ]);
  const foundBy = (request: ScopeRequest, candidates: readonly string[]) => ({
    runOwner: owners.get(request.runId ?? '') ?? null,
    asker: fold.questions.get(request.questionId ?? '')?.task_id ?? null,
    knownEvent: known.get(request.eventId ?? '') ?? null,
    candidates,
  });
  const mayBeClaimed = [...claimable.ready, ...(claimable.gone?.taskIds ?? [])];
  const namedBy = (isWanted: (request: ScopeRequest) => boolean) => [
    ...new Set(
      requests
        .filter(isWanted)
        .flatMap((request) =>
          namedTasks(request, foundBy(request, request.claimableBy === undefined ? [] : mayBeClaimed)),
        ),
    ),
  ];
  const wanted = namedBy(() => true);
  const [children, rows, custodies] = await gather(context.flags, [
    () =>
      loadFamily(db, context, {
        fold,
        named: wanted,
        parents: namedBy((request) => request.children === true),
        allGenerations: requests.some((request) => request.ancestors === true),
      }),
    () =>
      existingRows(
        db,
        context,
        requests.flatMap((request) => (request.rows === true ? request.taskIds : [])),
      ),
    async () => {
      const taskIds = namedBy((request) => request.evidence === true);
      return taskIds.length === 0 ? new Map<string, TaskCustody>() : readTaskCustodies(db, context, taskIds);
    },
    () => loadLeases(db, context, { fold, taskIds: wanted }),
    () =>
      loadSubmissions(db, context, {
        fold,
        keys: requests.flatMap((request) => request.idempotencyKey ?? []),
      }),
  ]);
  return {
    fold,
    scopeOf: (request, changes) => {
      const { claimableBy } = request;
      const candidates = claimableBy === undefined ? [] : candidatesOf(claimable, claimableBy, changes);
      if (candidates === null || changes.concerns(request)) return null;
      const found = foundBy(request, candidates);
      const named = namedTasks(request, found);
      const reach = reachOf(request, named, { fold, children });
      if (reach.some((id) => changes.concernsTask(id))) return null;
      if (runsSpokenOf(named, custodies).some((id) => changes.hasRun(id))) return null;
      return { scope: loadedScope({ now, fold, children, settings, rows, custodies, ...found }), named };
    },
  };
}

/** Runs in the evidence of tasks: rows of a task may speak of those of another one. */
function runsSpokenOf(
  named: readonly string[],
  custodies: ReadonlyMap<string, TaskCustody>,
): readonly string[] {
  return named.flatMap((id) => custodies.get(id)?.evidence ?? []).map((evidence) => evidence.run_id);
}

/** Everything that a decision may look at from its named tasks: what they wait for, and what waits for them. */
function reachOf(
  request: ScopeRequest,
  named: readonly string[],
  {
    fold,
    children,
  }: { readonly fold: ManagedFold; readonly children: ReadonlyMap<string, readonly string[]> },
): readonly string[] {
  const near = [
    ...named,
    ...(request.children === true ? named.flatMap((id) => children.get(id) ?? []) : []),
  ];
  const reach = new Set(near);
  let last: readonly string[] = near;
  do {
    last = last.flatMap((id) => fold.tasks.get(id)?.parents ?? []).filter((id) => !reach.has(id));
    for (const id of last) reach.add(id);
  } while (request.ancestors === true && last.length > 0);
  return [...reach];
}

/** The named tasks with those that they wait for or that wait for them, and what they have asked. */
async function loadFamily(
  db: Db,
  context: SqlContext,
  {
    fold,
    named,
    parents,
    allGenerations,
  }: {
    readonly fold: ManagedFold;
    readonly named: readonly string[];
    /** Those whose children are wanted. */
    readonly parents: readonly string[];
    readonly allGenerations: boolean;
  },
): Promise<Map<string, string[]>> {
  const [links] = await gather(context.flags, [
    () => CHILDREN(db, context, parents),
    () => loadTasks(db, context, { fold, taskIds: named }),
  ]);
  const children = new Map<string, string[]>();
  for (const { parent_id, child_id } of links)
    children.set(parent_id, [...(children.get(parent_id) ?? []), child_id]);
  await loadTasks(db, context, { fold, taskIds: [...new Set(links.map((link) => link.child_id))] });
  await loadParents(db, context, { fold, allGenerations });
  await loadOwedQuestions(db, context, { fold, taskIds: named });
  return children;
}

const OWNERS = keyedQuery((db, isKey) =>
  db
    .selectFrom('run')
    .select(['run_id', 'task_id', 'first_seq'])
    .where('ledger', '=', '')
    .where(isKey('run_id')),
);

/** The tasks of runs, by run; a run whose start or task nobody knows is not there. */
async function loadOwners(
  db: Db,
  context: SqlContext,
  { runIds }: { readonly runIds: readonly string[] },
): Promise<ReadonlyMap<string, string>> {
  const rows = await OWNERS(db, context, runIds);
  return new Map(
    rows.filter((row) => row.first_seq !== 0 && row.task_id !== '').map((row) => [row.run_id, row.task_id]),
  );
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
  if (taskIds.length === 0) return new Set();
  const rows = await db
    .selectFrom('task_row')
    .select('task_id')
    .where('ledger', '=', ledger)
    .where(isOneOf('task_id', taskIds, flags))
    .execute();
  return new Set(rows.map((row) => row.task_id));
}
