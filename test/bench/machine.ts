import { arch, cpus, platform, release, totalmem } from 'node:os';
import Database from 'better-sqlite3';

/** What the figures were measured on. */
export interface Machine {
  readonly cpu: string;
  readonly cores: number;
  readonly memory_gib: number;
  readonly os: string;
  readonly node: string;
  readonly sqlite: string;
  readonly measured_at: string;
}

/** This host, this Node, this SQLite. */
export function describeMachine(): Machine {
  const db = new Database(':memory:');
  const { version } = db.prepare('select sqlite_version() as version').get() as { readonly version: string };
  db.close();
  return {
    cpu: cpus()[0]?.model ?? 'unknown',
    cores: cpus().length,
    memory_gib: Math.round(totalmem() / 2 ** 30),
    os: `${platform()} ${release()} ${arch()}`,
    node: process.version,
    sqlite: version,
    measured_at: new Date().toISOString(),
  };
}
