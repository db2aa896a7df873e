import Database from 'better-sqlite3';
import { BusyError, StoreError } from '../../errors.ts';

/** The driver's error as ours; one that says nothing an operator could act on passes unchanged. */
export function toLedgerError(error: unknown, path: string): unknown {
  if (!(error instanceof Database.SqliteError)) return error;
  const facts = { path, sqlite_code: error.code };
  if (error.code.startsWith('SQLITE_BUSY') || error.code.startsWith('SQLITE_LOCKED')) {
    return new BusyError(`another process holds the lock of ${path}`, {
      hint: 'Try again; `fuser` shows who has the file open.',
      facts,
      cause: error,
    });
  }
  if (error.code === 'SQLITE_NOTADB') {
    return new StoreError('not_a_store', `${path} is no SQLite database`, {
      hint: 'Check the path given with -s.',
      facts,
      cause: error,
    });
  }
  if (error.code.startsWith('SQLITE_CORRUPT')) {
    return new StoreError('store_corrupt', `${path} is damaged: ${error.message}`, {
      hint: 'Restore it from a backup; keep the damaged file.',
      facts,
      cause: error,
    });
  }
  if (
    error.code.startsWith('SQLITE_CANTOPEN') ||
    error.code.startsWith('SQLITE_READONLY') ||
    error.code.startsWith('SQLITE_IOERR')
  ) {
    return new StoreError('store_unreadable', `${path} can't be used: ${error.message}`, {
      hint: 'Check the path, its folder and the permissions of both.',
      facts,
      cause: error,
    });
  }
  if (error.code === 'SQLITE_FULL') {
    return new StoreError('store_unreadable', `the disk of ${path} is full`, {
      hint: 'Free some space; nothing of the write was kept.',
      facts,
      cause: error,
    });
  }
  return error;
}
