import { readlinkSync } from 'node:fs';
import { hostname } from 'node:os';
import type { IndexDb } from './index-tables.ts';

/** A process that has been open for longer is known by its locks' age instead. */
const FORGET_MS = 7 * 24 * 3600 * 1000;

/** Where a process id means what it means here: the host, and inside of it the space of process ids. */
function hostToken(): string {
  try {
    return `${hostname()} ${readlinkSync('/proc/self/ns/pid')}`;
  } catch {
    return hostname();
  }
}

/** Makes this process known as one of the ledger's own: what it leaves behind when it is killed is ours to clear. */
export async function registerProcess(db: IndexDb): Promise<void> {
  const now = Date.now();
  await db.transaction().execute(async (transaction) => {
    await transaction
      .deleteFrom('own_process')
      .where('opened_at_ms', '<', now - FORGET_MS)
      .execute();
    await transaction
      .replaceInto('own_process')
      .values({ pid: process.pid, host: hostToken(), opened_at_ms: now })
      .execute();
  });
}

/** True if a process of this ledger had the id, on this host. */
export async function isOwnProcess(db: IndexDb, pid: number): Promise<boolean> {
  const row = await db
    .selectFrom('own_process')
    .select('pid')
    .where('pid', '=', pid)
    .where('host', '=', hostToken())
    .executeTakeFirst();
  return row !== undefined;
}
