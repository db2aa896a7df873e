import { UsageError } from '../errors.ts';
import type { PostgresLocation } from './postgres-url.ts';
import { parsePostgresUrl } from './postgres-url.ts';

/** The dialect that a JSONL store writes; both are read. */
export type JsonlDialect = 'custody' | 'ouroboros';

/** Where a ledger is. */
export type StoreLocation =
  | { readonly kind: 'memory' }
  | { readonly kind: 'sqlite'; readonly path: string; readonly durability: 'full' | 'normal' }
  | { readonly kind: 'jsonl'; readonly directory: string; readonly dialect: JsonlDialect | null }
  | PostgresLocation
  /** A ledger that another process serves. */
  | { readonly kind: 'http'; readonly origin: string };

const HINT =
  'Use sqlite:PATH, postgres://USER@HOST/DATABASE, http://HOST:PORT, jsonl:DIR or memory:, such as sqlite:.custody/custody.db.';

/**
 * Reads a store URL.
 *
 * @throws UsageError `invalid_url`.
 */
export function parseStoreUrl(url: string): StoreLocation {
  const match = /^([a-z][a-z0-9+.-]*):(.*)$/s.exec(url);
  const [, scheme = '', rest = ''] = match ?? [];
  const [path = '', query = ''] = splitOnce(rest, '?');
  switch (scheme) {
    case 'memory':
      return { kind: 'memory' };
    case 'sqlite':
      return { kind: 'sqlite', path: required(path, url), durability: durabilityOf(query, url) };
    case 'jsonl':
      return { kind: 'jsonl', directory: required(path, url), dialect: dialectOf(query, url) };
    case 'postgres':
    case 'postgresql':
      return parsePostgresUrl(url);
    case 'http':
    case 'https':
      return { kind: 'http', origin: originOf(url) };
    default:
      throw new UsageError('invalid_url', `${JSON.stringify(withoutCredentials(url))} is no store URL`, {
        hint: HINT,
        facts: { url: withoutCredentials(url) },
      });
  }
}

/** A URL that was mistyped may still hold a password, also where its slashes are not what they should be. */
function withoutCredentials(url: string): string {
  const end = url.lastIndexOf('@');
  return end < 0 ? url : `${/^[a-z][a-z0-9+.-]*:\/\//.exec(url)?.[0] ?? ''}${url.slice(end + 1)}`;
}

/** A served ledger is named by its host and port alone; a token in a URL would be printed with it. */
function originOf(url: string): string {
  const parsed = URL.canParse(url) ? new URL(url) : null;
  const isOrigin =
    parsed !== null &&
    parsed.pathname === '/' &&
    `${parsed.username}${parsed.password}${parsed.search}${parsed.hash}` === '';
  if (isOrigin) return parsed.origin;
  throw new UsageError('invalid_url', `${JSON.stringify(withoutCredentials(url))} names no served ledger`, {
    hint: 'Use http://HOST:PORT or https://HOST and nothing behind it; a token goes into CUSTODY_TOKEN.',
    facts: { url: withoutCredentials(url) },
  });
}

function splitOnce(text: string, separator: string): readonly [string, string] {
  const index = text.indexOf(separator);
  return index < 0 ? [text, ''] : [text.slice(0, index), text.slice(index + separator.length)];
}

function required(path: string, url: string): string {
  if (path !== '' && !path.includes('\u0000')) return path;
  throw new UsageError('invalid_url', `the store URL ${JSON.stringify(url)} names no place`, {
    hint: HINT,
    facts: { url },
  });
}

function durabilityOf(query: string, url: string): 'full' | 'normal' {
  const value = optionOf(query, 'durability', url);
  if (value === null || value === 'full' || value === 'normal') return value ?? 'full';
  throw new UsageError('invalid_url', `durability is full or normal, not ${JSON.stringify(value)}`, {
    hint: HINT,
    facts: { url },
  });
}

function dialectOf(query: string, url: string): JsonlDialect | null {
  const value = optionOf(query, 'dialect', url);
  if (value === null || value === 'custody' || value === 'ouroboros') return value;
  throw new UsageError('invalid_url', `dialect is custody or ouroboros, not ${JSON.stringify(value)}`, {
    hint: HINT,
    facts: { url },
  });
}

function optionOf(query: string, known: string, url: string): string | null {
  const options = new URLSearchParams(query);
  for (const key of options.keys()) {
    if (key !== known)
      throw new UsageError('invalid_url', `the option ${JSON.stringify(key)} is unknown`, {
        hint: `This store knows ${known}.`,
        facts: { url },
      });
  }
  return options.get(known);
}
