import { mkdirSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import type { JsonObject } from '../../core/json.ts';
import { isJsonObject } from '../../core/json.ts';
import { StoreError, UsageError } from '../../errors.ts';
import type { StateStore } from '../../ports/settle-scan.ts';
import { fromCursorFile, toCursorFile } from './cursor-file.ts';
import { replaceFile } from './durable-file.ts';
import { isMissing } from './fs-error.ts';
import type { RootPaths } from './root-paths.ts';

/** The document that other programs read and write too. */
const CURSOR = 'refresh_cursor';

/** Documents as files under `state/`. */
export function jsonlStateStore(paths: RootPaths, assertWritable: () => void): StateStore {
  return {
    load: async (name) => {
      if (name !== CURSOR) return readDocument(documentPath(paths, name));
      const file = readDocument(paths.cursor);
      return file === null ? null : fromCursorFile(file);
    },
    save: async (name, value) => {
      assertWritable();
      const path = name === CURSOR ? paths.cursor : documentPath(paths, name);
      writeDocument(path, JSON.stringify(name === CURSOR ? toCursorFile(value) : value, null, 2));
    },
  };
}

function writeDocument(path: string, text: string): void {
  try {
    mkdirSync(dirname(path), { recursive: true });
    replaceFile(path, text);
  } catch (cause) {
    throw new StoreError('store_unreadable', `${path} can't be written`, {
      hint: 'Check the disk and the permissions of the folder.',
      facts: { path },
      cause,
    });
  }
}

function documentPath(paths: RootPaths, name: string): string {
  if (/^[A-Za-z0-9][A-Za-z0-9_-]{0,99}$/.test(name)) return join(paths.state, `custody.${name}.json`);
  throw new UsageError('invalid_option', `${JSON.stringify(name)} can't name a state document`, {
    hint: 'Use 1 to 100 letters, digits, _ and -.',
    facts: { name },
  });
}

/** A missing or unreadable document counts as none: every pass that needs one can do without. */
function readDocument(path: string): JsonObject | null {
  try {
    const value: unknown = JSON.parse(readFileSync(path, 'utf8'));
    return isJsonObject(value) ? value : null;
  } catch (error) {
    if (isMissing(error) || error instanceof SyntaxError) return null;
    throw error;
  }
}
