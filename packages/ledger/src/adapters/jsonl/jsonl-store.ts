import { existsSync, mkdirSync, statSync } from 'node:fs';
import type { JsonlDialect } from '../../core/store-url.ts';
import { LedgerError, StoreError } from '../../errors.ts';
import type { Clock, NewId } from '../../ports/clock.ts';
import type { LeaderStore } from '../../ports/leader-store.ts';
import type { LedgerStore } from '../../ports/ledger-store.ts';
import { sqlLeaderStore } from '../sql/sql-small-stores.ts';
import { lockedSession } from '../sql/write-transaction.ts';
import { recoverEvidence } from './heal-intents.ts';
import { INDEX_SCHEMA } from './index-tables.ts';
import type { JsonlContext } from './jsonl-context.ts';
import { assertWritable } from './jsonl-context.ts';
import { jsonlCustodyReader } from './jsonl-custody-reader.ts';
import { jsonlEventStore } from './jsonl-event-store.ts';
import { jsonlReplicas } from './jsonl-replicas.ts';
import { jsonlSettleScan } from './jsonl-settle-scan.ts';
import { jsonlStateStore } from './jsonl-state-store.ts';
import { jsonlTaskRows } from './jsonl-task-rows.ts';
import { verifyJsonl } from './jsonl-verify.ts';
import { LogIndex } from './log-index.ts';
import type { RootPaths } from './root-paths.ts';
import { rootPaths } from './root-paths.ts';

/** What opening a JSONL ledger needs. */
export interface JsonlStoreOptions {
  readonly directory: string;
  /** The dialect to write; null = that of the rows already there, else `custody`. */
  readonly dialect: JsonlDialect | null;
  readonly create: boolean;
  readonly readOnly: boolean;
  readonly clock: Clock;
  readonly newId: NewId;
  /** Hears of every time that the log is read from its beginning. */
  readonly onReplay?: () => void;
}

/**
 * A ledger in a directory of JSON Lines and JSON files.
 *
 * @throws StoreError `store_missing` if nothing of a store is there and it may not be made, `not_a_store` if it is a file.
 */
export async function jsonlStore(options: JsonlStoreOptions): Promise<LedgerStore> {
  const paths = rootPaths(options.directory);
  const created = openRoot(paths, options);
  const index = await LogIndex.open({
    paths,
    newId: options.newId,
    isPrivate: options.readOnly,
    onReplay: options.onReplay ?? (() => undefined),
  });
  const { clock, newId, dialect, readOnly } = options;
  const context: JsonlContext = { index, paths, clock, newId, dialect, readOnly };
  if (!options.readOnly) await settleLeftovers(context);
  return {
    kind: 'jsonl',
    url: `jsonl:${options.directory}`,
    created,
    schemaVersion: INDEX_SCHEMA.steps.length,
    events: jsonlEventStore(context),
    custody: jsonlCustodyReader(index, paths),
    rows: jsonlTaskRows(context),
    scan: jsonlSettleScan(paths),
    state: jsonlStateStore(paths, () => assertWritable(context)),
    leaders: jsonlLeaderStore(context),
    replicas: jsonlReplicas(paths),
    verify: (request) => verifyJsonl(context, request),
    close: () => index.close(),
  };
}

/** True if there was nothing of a store before. */
function openRoot(paths: RootPaths, { create, readOnly }: JsonlStoreOptions): boolean {
  const stat = statSync(paths.root, { throwIfNoEntry: false });
  if (stat !== undefined && !stat.isDirectory()) {
    throw new StoreError('not_a_store', `${paths.root} is no directory`, {
      hint: 'A SQLite store is opened with sqlite:PATH.',
      facts: { path: paths.root },
    });
  }
  const isNew = ![paths.logs, paths.archive, paths.rows, paths.state].some((path) => existsSync(path));
  // A folder that holds none of it, such as the place of a disk that is not mounted, is no store without debts.
  if (isNew && (!create || readOnly)) {
    throw new StoreError('store_missing', `there is no store at ${paths.root}`, {
      hint: 'Make one with `custody init`, or give its place with -s.',
      facts: { path: paths.root },
    });
  }
  if (isNew) makeRoot(paths);
  return isNew;
}

function makeRoot({ root, logs }: RootPaths): void {
  try {
    mkdirSync(logs, { recursive: true });
  } catch (cause) {
    throw new StoreError('store_unreadable', `${root} can't be made`, {
      hint: 'Check the path and its permissions.',
      facts: { path: root },
      cause,
    });
  }
}

/** What a crash left unsaid is said now; a log that can't take it yet is no reason not to open. */
async function settleLeftovers(context: JsonlContext): Promise<void> {
  try {
    await recoverEvidence(context);
  } catch (error) {
    if (!(error instanceof LedgerError)) throw error;
  }
}

/** Leases in the index: when it is lost they are lost with it, and taken anew. */
function jsonlLeaderStore(context: JsonlContext): LeaderStore {
  const ask = <T>(work: (store: LeaderStore) => Promise<T>): Promise<T> => {
    assertWritable(context);
    return context.index.writeTables((tables) =>
      // Nobody takes a data root over: whoever can write its files may.
      work(sqlLeaderStore({ ...tables, session: lockedSession(context.clock, null) })),
    );
  };
  return {
    tryLead: async (name, holder, ttlMs) => ask((store) => store.tryLead(name, holder, ttlMs)),
    resign: async (name, holder) => ask((store) => store.resign(name, holder)),
  };
}
