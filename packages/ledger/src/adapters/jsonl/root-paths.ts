import { join } from 'node:path';

/** Where things are under a data root. The layout is the same in both dialects. */
export interface RootPaths {
  readonly root: string;
  readonly logs: string;
  /** The live log; any program may append a line. */
  readonly live: string;
  /** Rotated segments of the log, beside files of others. */
  readonly archive: string;
  /** A copy of the containment faults alone, so that they are found without reading history. */
  readonly faults: string;
  readonly rows: string;
  readonly state: string;
  /** Our index; it may be deleted at any time. */
  readonly index: string;
  /** The hashes of the chain, one line for each append of ours. */
  readonly heads: string;
  /** The reconciler's cursor, in the form that the log's other readers know. */
  readonly cursor: string;
}

/** The paths of a data root. */
export function rootPaths(root: string): RootPaths {
  const logs = join(root, 'logs');
  const state = join(root, 'state');
  return {
    root,
    logs,
    state,
    live: join(logs, 'events.jsonl'),
    archive: join(root, 'archive'),
    faults: join(logs, 'containment_faults.jsonl'),
    rows: join(root, 'task_results'),
    index: join(state, 'custody.db'),
    heads: join(state, 'custody.heads.jsonl'),
    cursor: join(state, 'delegate_terminal_refresh_cursor.json'),
  };
}

/** Names of the log's segments in the archive; other files there are not ours. */
export const SEGMENT_NAME = /^events_.*\.jsonl$/s;
