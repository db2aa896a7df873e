import type { Seams } from '@custody/cli/simulation';
import type { LedgerStore, LoadedRow, TaskRow } from '@custody/ledger';
import { isTerminalStatus, parseTaskRow } from '@custody/ledger';

type Rows = LedgerStore['rows'];

function withRows(store: LedgerStore, change: (rows: Rows) => Partial<Rows>): LedgerStore {
  return { ...store, rows: { ...store.rows, ...change(store.rows) } };
}

/** Never looks at the first row that may have stopped being true. */
export const selectsTooFew: Seams = {
  store: (store) =>
    withRows(store, (rows) => ({ selectStale: async () => (await rows.selectStale()).slice(1) })),
};

const overwritten = new WeakMap<object, Map<string, TaskRow>>();

/** Takes whatever is written over a row that has ended. */
export const openRows: Seams = {
  store: (store, { world }) => {
    const over = overwritten.get(world) ?? new Map<string, TaskRow>();
    overwritten.set(world, over);
    const seen = (loaded: LoadedRow): LoadedRow => {
      const row = over.get(loaded.row.task_id);
      return row === undefined ? loaded : { row, version: `${loaded.version}-over` };
    };
    return withRows(store, (rows) => ({
      put: async (given) => {
        const results = await rows.put(given);
        for (const [index, result] of results.entries()) {
          const row = given[index];
          if (result.outcome === 'refused' && row !== undefined) over.set(row.task_id, row);
        }
        return results;
      },
      async *list(query) {
        for await (const loaded of rows.list(query)) yield seen(loaded);
      },
    }));
  },
};

function without(row: TaskRow, keys: readonly string[]): TaskRow {
  const kept = Object.entries(row.value).filter(([key]) => !keys.includes(key));
  return parseTaskRow(JSON.stringify(Object.fromEntries(kept)));
}

/** Writes every disclosure anew, whether it changed or not. */
export const churns: Seams = {
  store: (store) => {
    const blind = (loaded: LoadedRow): LoadedRow => ({
      ...loaded,
      row: without(loaded.row, ['delegated_runs_unreconciled', 'delegate_terminal_reconciliation']),
    });
    return withRows(store, (rows) => ({
      selectStale: async () => {
        const ids: string[] = [];
        for await (const { row } of rows.list({})) if (isTerminalStatus(row.status)) ids.push(row.task_id);
        return ids;
      },
      load: async (id) => {
        const loaded = await rows.load(id);
        return loaded === null ? null : blind(loaded);
      },
      loadMany: async (ids) => {
        const loaded = await Promise.all(ids.map((id) => rows.load(id)));
        return new Map(loaded.flatMap((item) => (item === null ? [] : [[item.row.task_id, blind(item)]])));
      },
    }));
  },
};

/** Changes rows and tells nobody. */
export const silentHeals: Seams = {
  store: (store) =>
    withRows(store, (rows) => ({
      update: (updates) =>
        rows.update(
          updates.map((update) => ({ ...update, evidence: { type: 'x.silent', task_id: update.task_id } })),
        ),
    })),
};

/** Writes a row and what tells of it one after the other, not together. */
export const separateEvidence: Seams = {
  store: (store) =>
    withRows(store, (rows) => ({
      update: async (updates) => {
        const results = await rows.update(
          updates.map((update) => ({ ...update, evidence: { type: 'x.later', task_id: update.task_id } })),
        );
        const told = updates.filter((_, index) => results[index]?.outcome === 'updated');
        if (told.length > 0) await store.events.append([{ events: told.map((update) => update.evidence) }]);
        return results;
      },
    })),
};

/** Writes what was planned over whatever the row and the log have become since. */
export const unboundHeals: Seams = {
  store: (store) =>
    withRows(store, (rows) => ({
      update: async (updates) => {
        const tasks = await store.custody.tasks(updates.map((update) => update.task_id));
        const bound = updates.map(async (update) => ({
          ...update,
          expected_version: (await rows.load(update.task_id))?.version ?? update.expected_version,
          custody_seq: tasks.get(update.task_id)?.facts.last_seq ?? update.custody_seq,
        }));
        return rows.update(await Promise.all(bound));
      },
    })),
};

/** Makes a row where none is, to have one to heal. */
export const mintsRows: Seams = {
  store: (store, { who }) =>
    who === 'eyes'
      ? store
      : withRows(store, (rows) => ({
          loadMany: async (ids) => {
            const found = new Map<string, LoadedRow>();
            for (const id of ids) {
              const row = parseTaskRow(JSON.stringify({ task_id: id, status: 'failed' }));
              if ((await rows.load(id)) === null) await rows.put([row]);
              const loaded = await rows.load(id);
              if (loaded !== null) found.set(id, loaded);
            }
            return found;
          },
        })),
};

/** Overlooks a task whose run ended. */
export const skippedEnds: Seams = {
  store: (store) => ({
    ...store,
    scan: {
      settledAfter: async (position) => {
        const found = await store.scan.settledAfter(position);
        return found.outcome === 'scanned' ? { ...found, task_ids: found.task_ids.slice(1) } : found;
      },
    },
  }),
};

/** Moves the cursor before the work is done. */
export const earlyCursor: Seams = {
  store: (store) => ({
    ...store,
    scan: {
      settledAfter: async (position) => {
        const found = await store.scan.settledAfter(position);
        const known = await store.state.load('refresh_cursor');
        if (found.outcome === 'scanned')
          await store.state.save('refresh_cursor', { deferred: {}, ...known, position: found.next });
        return found;
      },
    },
  }),
};
