import type { StoreError } from '../../errors.ts';
import type { SqlContext } from '../sql/tables.ts';
import type { Segment } from './chain-view.ts';
import { unreadableLog, viewChain } from './chain-view.ts';
import { followLog, isFollowed, isUnchanged } from './follow-log.ts';
import { openIndexCopy } from './index-copy.ts';
import type { IndexDb } from './index-tables.ts';
import type { OpenIndex } from './open-index.ts';
import { discardIndex, identityOf, isIndexDamage, openIndex, openPrivateIndex } from './open-index.ts';
import { isOwnProcess } from './own-processes.ts';
import type { RootPaths } from './root-paths.ts';
import { ChainMovedError } from './segment-file.ts';

/** What an index needs to know of its store. */
export interface LogIndexOptions {
  readonly paths: RootPaths;
  /** True if nothing may be written under the root: the index is then of this process alone. */
  readonly isPrivate: boolean;
  readonly newId: () => string;
  readonly onReplay: () => void;
}

/** What happens inside one write transaction of the index. */
export interface IndexWrite {
  readonly db: IndexDb;
  readonly context: SqlContext;
  /** Brings the index to where the log stands. @throws StoreError `log_unreadable` */
  readonly follow: () => Promise<void>;
}

/** The log moves on while it is read; more often than this something else is wrong. */
const MAX_ATTEMPTS = 5;

/**
 * The tables that follow from the log. The log is the truth: before each use the index is compared with the
 * chain of segments and brought up to it, which for an unchanged chain costs a look at each file and no more.
 */
export class LogIndex {
  readonly #options: LogIndexOptions;
  #open: OpenIndex;
  /** The chain that the tables were last known to show; null when that is not known. */
  #view: readonly Segment[] | null = null;

  private constructor(options: LogIndexOptions, open: OpenIndex) {
    this.#options = options;
    this.#open = open;
  }

  static async open(options: LogIndexOptions): Promise<LogIndex> {
    return new LogIndex(options, await makeIndex(options));
  }

  /** True if a process of this ledger had the id, on this host. */
  isOwnProcess(pid: number): Promise<boolean> {
    return isOwnProcess(this.#open.context.reader as unknown as IndexDb, pid);
  }

  /**
   * Runs a write transaction. It holds the lock that orders the processes of this ledger; the host frees it when
   * its process dies. `work` runs a second time if the index turns out to be damaged.
   */
  write<T>(work: (write: IndexWrite) => Promise<T>): Promise<T> {
    return this.#repairing(() => this.#transaction(work));
  }

  /** Runs work that writes tables which do not follow from the log, with transactions of its own. */
  writeTables<T>(work: (context: SqlContext) => Promise<T>): Promise<T> {
    return this.#repairing(async () => {
      if (this.#isReplaced()) await this.#reopen();
      return work(this.#open.context);
    });
  }

  /** Brings the index up to the log; null, or why the log can't be read. What was read before stays there. */
  async sync(): Promise<StoreError | null> {
    const view = viewChain(this.#options.paths);
    if (!view.readable) return view.error;
    if ((await this.#shows(view.segments)) && !this.#isReplaced()) return null;
    return this.write(async ({ follow }) => {
      await follow();
      return null;
    }).catch((error: unknown) => {
      if (isUnreadable(error)) return error;
      throw error;
    });
  }

  /** Reads what the log says now. With an unreadable log: what it said when it last could be read. */
  async read<T>(work: (context: SqlContext) => Promise<T>): Promise<T> {
    await this.sync();
    return this.readUnsynced(work);
  }

  /** Reads what the log says now. @throws StoreError `log_unreadable` */
  async readStrictly<T>(work: (context: SqlContext) => Promise<T>): Promise<T> {
    const error = await this.sync();
    if (error !== null) throw error;
    return this.readUnsynced(work);
  }

  /** Reads the tables as they stand. */
  async readUnsynced<T>(work: (context: SqlContext) => Promise<T>): Promise<T> {
    try {
      return await work(this.#open.context);
    } catch (error) {
      if (!isIndexDamage(error)) throw error;
    }
    this.#view = null;
    await this.write(async ({ follow }) => follow());
    return work(this.#open.context);
  }

  async close(): Promise<void> {
    await this.#open.close();
  }

  /** True if nothing has to be followed. A new handle asks its tables, and takes no lock for it. */
  async #shows(segments: readonly Segment[]): Promise<boolean> {
    if (this.#view !== null) return isUnchanged(this.#view, segments);
    try {
      if (!(await isFollowed(this.#open.context.reader as unknown as IndexDb, segments))) return false;
    } catch (error) {
      if (!isIndexDamage(error)) throw error;
      return false;
    }
    this.#view = segments;
    return true;
  }

  async #transaction<T>(work: (write: IndexWrite) => Promise<T>): Promise<T> {
    if (this.#isReplaced()) await this.#reopen();
    for (let attempt = 1; ; attempt += 1) {
      const place = { view: this.#view };
      this.#view = null;
      try {
        const result = await this.#open.db
          .transaction()
          .execute((db) => work({ db, context: this.#open.context, follow: () => this.#follow(db, place) }));
        this.#view = place.view;
        return result;
      } catch (error) {
        if (!(error instanceof ChainMovedError) || attempt >= MAX_ATTEMPTS) throw error;
      }
    }
  }

  async #follow(db: IndexDb, place: { view: readonly Segment[] | null }): Promise<void> {
    const view = viewChain(this.#options.paths);
    if (!view.readable) throw view.error;
    place.view = null;
    try {
      await followLog(db, this.#open.context, view.segments, this.#options);
    } catch (error) {
      // A file that was seen and can't be opened is as unreadable as one that can't be seen.
      if (isFileError(error)) throw unreadableLog(this.#options.paths.root, error);
      throw error;
    }
    place.view = view.segments;
  }

  /** Runs once more on a new index when the one that is there is damaged. */
  async #repairing<T>(work: () => Promise<T>): Promise<T> {
    try {
      return await work();
    } catch (error) {
      if (!isIndexDamage(error)) throw error;
    }
    await this.#replaceDamaged();
    return work();
  }

  #isReplaced(): boolean {
    return this.#open.identity !== null && identityOf(this.#options.paths.index) !== this.#open.identity;
  }

  async #reopen(): Promise<void> {
    this.#view = null;
    await this.#open.close();
    this.#open = await makeIndex(this.#options);
  }

  async #replaceDamaged(): Promise<void> {
    const { identity } = this.#open;
    if (identity !== null) {
      await discardIndex(this.#options.paths, identity);
      await this.#reopen();
      return;
    }
    this.#view = null;
    await this.#open.close();
    // What it was copied from is as damaged as the copy.
    this.#open = await openPrivateIndex(this.#options.newId);
  }
}

function makeIndex(options: LogIndexOptions): Promise<OpenIndex> {
  return options.isPrivate ? makePrivateIndex(options) : openIndex(options.paths, options.newId);
}

/** A copy of the shared index spares a reader the replay; without one he reads the log from its beginning. */
async function makePrivateIndex({ paths, newId }: LogIndexOptions): Promise<OpenIndex> {
  const copy = await openIndexCopy(paths, newId).catch(() => null);
  return copy ?? openPrivateIndex(newId);
}

function isUnreadable(error: unknown): error is StoreError {
  return error instanceof Error && 'code' in error && error.code === 'log_unreadable';
}

function isFileError(error: unknown): boolean {
  return error instanceof Error && 'syscall' in error;
}
