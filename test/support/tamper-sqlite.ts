import { openRawSqlite } from './raw-sqlite.ts';
import type { TamperedStore } from './tampering.ts';

/**
 * Hands a database file to somebody who knows it: the triggers are taken out, and put back as they were. Answers what
 * he answers.
 */
export async function withoutSqliteGuards<T>(
  path: string,
  attack: (store: TamperedStore) => Promise<T>,
): Promise<T> {
  const db = openRawSqlite(path);
  try {
    const triggers = db.prepare(`select name, sql from sqlite_master where type = 'trigger'`).all() as {
      name: string;
      sql: string;
    }[];
    for (const { name } of triggers) db.exec(`drop trigger ${name}`);
    const answer = await attack({
      ledger: 'main',
      placeOf: (table) => table,
      textOf: (bytes) => `cast(x'${bytes.toString('hex')}' as text)`,
      flipped: (byte, mask) => byte ^ mask,
      run: async (statement) => db.exec(statement),
      rows: async (query) => db.prepare(query).all() as readonly Record<string, unknown>[],
    });
    for (const { sql } of triggers) db.exec(sql);
    return answer;
  } finally {
    db.close();
  }
}
