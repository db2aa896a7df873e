import { randomBytes } from 'node:crypto';
import { plainSession } from './postgres.ts';

/** A role with a password, which may do what it is granted. */
export interface TestRole {
  readonly name: string;
  /** The URL of a ledger as this role opens it. */
  readonly as: (url: string) => string;
  drop(): Promise<void>;
}

/** Makes a role that may do nothing yet. */
export async function makeRole(): Promise<TestRole> {
  const name = `custody_role_${randomBytes(4).toString('hex')}`;
  const sql = await plainSession();
  await sql.query(`create role ${name} login password 'pa:ss@word'`);
  return {
    name,
    as: (url) => {
      const changed = new URL(url);
      changed.username = name;
      changed.password = 'pa:ss@word';
      return changed.href;
    },
    drop: async () => {
      await sql.query(`drop owned by ${name}; drop role ${name}`);
    },
  };
}

/** The grants that docs/operations.md gives to a role that looks. */
export function readingGrants(schema: string, role: string): string {
  return `grant usage on schema ${schema} to ${role};
    grant select on all tables in schema ${schema} to ${role};
    alter default privileges in schema ${schema} grant select on tables to ${role}`;
}
