import type { JsonlDialect } from '../../core/store-url.ts';
import { StoreError } from '../../errors.ts';
import type { Clock, NewId } from '../../ports/clock.ts';
import type { LogIndex } from './log-index.ts';
import type { RootPaths } from './root-paths.ts';

/** What the parts of one JSONL store share. */
export interface JsonlContext {
  readonly index: LogIndex;
  readonly paths: RootPaths;
  readonly clock: Clock;
  readonly newId: NewId;
  /** The dialect that the store's URL asks for; null = that of the rows already there. */
  readonly dialect: JsonlDialect | null;
  readonly readOnly: boolean;
}

/** @throws StoreError if the store was opened for reading only. */
export function assertWritable({ readOnly, paths }: Pick<JsonlContext, 'readOnly' | 'paths'>): void {
  if (!readOnly) return;
  throw new StoreError('store_unreadable', `${paths.root} was opened for reading only`, {
    hint: 'Open it for writing.',
    facts: { path: paths.root },
  });
}
