import { parseStoreUrl, UsageError } from '@custody/ledger';
import { describe, expect, it } from 'vitest';

const SECRET = 'p%40ss%3Aw0rd';

function refusalOf(url: string): UsageError {
  try {
    parseStoreUrl(url);
  } catch (error) {
    if (error instanceof UsageError) return error;
    throw error;
  }
  throw new Error(`${url} was taken`);
}

describe('the URL of a PostgreSQL ledger', () => {
  it('has defaults for everything but the place', () => {
    expect(parseStoreUrl('postgres://me@db.example/app')).toEqual({
      kind: 'postgres',
      connection: 'postgres://me@db.example/app',
      shown: 'postgres://me@db.example/app?schema=custody&ledger=main',
      schema: 'custody',
      ledger: 'main',
      poolMax: 5,
      connectTimeoutMs: 10_000,
      lockTimeoutMs: 15_000,
      statementTimeoutMs: null,
      isPrepared: true,
      listens: true,
    });
  });

  it('gives its own options to the store, and the others to the driver, with the meaning that psql has', () => {
    const location = parseStoreUrl(
      `postgresql://me:${SECRET}@db.example:6432/app?schema=audit_log&ledger=Tenant.7&pool_max=3&connect_timeout=2` +
        '&lock_timeout=500&statement_timeout=60000&prepare=off&listen=off&sslmode=require&application_name=x',
    );
    expect(location).toEqual({
      kind: 'postgres',
      connection: `postgresql://me:${SECRET}@db.example:6432/app?sslmode=require&application_name=x&uselibpqcompat=true`,
      shown: 'postgres://me@db.example:6432/app?schema=audit_log&ledger=Tenant.7',
      schema: 'audit_log',
      ledger: 'Tenant.7',
      poolMax: 3,
      connectTimeoutMs: 2_000,
      lockTimeoutMs: 500,
      statementTimeoutMs: 60_000,
      isPrepared: false,
      listens: false,
    });
  });

  it.each([
    ['an option that is unknown', 'shema=x', /"shema" is unknown/],
    ['an option that is given twice', 'schema=a&schema=b', /twice/],
    ['a schema that is no name', 'schema=a"b', /schema can not be/],
    ['a ledger that is no id', 'ledger=-x', /ledger can not be/],
    ['a pool of none', 'pool_max=0', /pool_max can not be/],
    ['a time that is no number', 'lock_timeout=1s', /lock_timeout can not be/],
    ['a switch that is neither on nor off', 'prepare=no', /prepare can not be/],
    ['a mode of TLS that is none', 'sslmode=on', /sslmode can not be/],
    ['a password among the options', `password=${SECRET}`, /"password" is unknown/],
  ])('is refused with %s, without its password', (_what, query, message) => {
    const error = refusalOf(`postgres://me:${SECRET}@db.example/app?${query}`);

    expect(error).toMatchObject({ code: 'invalid_url', facts: { url: 'postgres://me@db.example/app' } });
    expect(error.message).toMatch(message);
    expect(JSON.stringify([error.message, error.hint, error.facts])).not.toContain('w0rd');
  });

  it.each([
    ['a password that was not encoded', 'postgres://me:a/w0rd@db.example/app'],
    ['a port that is none', 'postgres://me:w0rd@db.example:x/app'],
    ['a scheme that is none of ours', 'postgre://me:w0rd@db.example/app'],
    ['a scheme in capitals', 'Postgres://me:w0rd@db.example/app'],
  ])('is refused with %s, and not shown', (_what, url) => {
    const error = refusalOf(url);

    expect(error.code).toBe('invalid_url');
    expect(JSON.stringify([error.message, error.hint, error.facts])).not.toContain('w0rd');
  });
});
