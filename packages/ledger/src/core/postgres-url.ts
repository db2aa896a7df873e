import { UsageError } from '../errors.ts';
import { isId } from './ids.ts';

/** Where a ledger is in a PostgreSQL database, and how it is spoken to. */
export interface PostgresLocation {
  readonly kind: 'postgres';
  /** The URL for the driver: the database with user and password, and what TLS needs. Never printed. */
  readonly connection: string;
  /** The URL without password, to be printed. */
  readonly shown: string;
  readonly schema: string;
  readonly ledger: string;
  /** Connections of a handle, at most. */
  readonly poolMax: number;
  readonly connectTimeoutMs: number;
  /** How long a write waits for the one before it. */
  readonly lockTimeoutMs: number;
  /** Null where the server decides. */
  readonly statementTimeoutMs: number | null;
  /** False behind a pooler that can't follow prepared statements. */
  readonly isPrepared: boolean;
  /** False behind a pooler that gives each transaction another connection: a wait then looks at intervals only. */
  readonly listens: boolean;
}

/** Options that go to the driver as they are, named as libpq names them. */
const FOR_DRIVER: readonly string[] = [
  'application_name',
  'sslcert',
  'sslkey',
  'sslmode',
  'sslnegotiation',
  'sslrootcert',
];

const SSL_MODES = ['disable', 'prefer', 'require', 'verify-ca', 'verify-full'];

const OWN = [
  'connect_timeout',
  'ledger',
  'listen',
  'lock_timeout',
  'pool_max',
  'prepare',
  'schema',
  'statement_timeout',
];

const HINT =
  'Use postgres://USER@HOST/DATABASE?schema=custody&ledger=main; the password may come from PGPASSWORD or ~/.pgpass.';

/**
 * Reads the URL of a PostgreSQL ledger.
 *
 * @throws UsageError `invalid_url`; what it tells holds no password.
 */
export function parsePostgresUrl(url: string): PostgresLocation {
  const parsed = parse(url);
  const shown = withoutSecrets(parsed);
  const options = new Options(parsed, shown);
  const schema = options.text('schema', 'custody', (value) => /^[a-z_][a-z0-9_]{0,47}$/.test(value));
  const ledger = options.text('ledger', 'main', isId);
  options.text('sslmode', 'disable', (value) => SSL_MODES.includes(value));
  return {
    kind: 'postgres',
    connection: forDriver(parsed),
    shown: `${shown}?schema=${schema}&ledger=${encodeURIComponent(ledger)}`,
    schema,
    ledger,
    poolMax: options.count('pool_max', 5),
    connectTimeoutMs: options.count('connect_timeout', 10) * 1000,
    lockTimeoutMs: options.count('lock_timeout', 15_000),
    statementTimeoutMs: options.has('statement_timeout') ? options.count('statement_timeout', 1) : null,
    isPrepared: options.flag('prepare'),
    listens: options.flag('listen'),
  };
}

function parse(url: string): URL {
  // What can't be read is not shown either: nobody knows where its password ends.
  const parsed = URL.canParse(url) ? new URL(url) : null;
  if (parsed !== null && !parsed.pathname.slice(1).includes('/') && parsed.hash === '') return parsed;
  throw new UsageError('invalid_url', 'the PostgreSQL URL can not be read', {
    hint: `${HINT} Characters such as @ / : # ? in a password are written as %40 %2F %3A %23 %3F.`,
  });
}

function withoutSecrets(parsed: URL): string {
  const user = parsed.username === '' ? '' : `${parsed.username}@`;
  return `postgres://${user}${parsed.host}${parsed.pathname}`;
}

function forDriver(parsed: URL): string {
  const url = new URL(parsed.href);
  for (const key of OWN) url.searchParams.delete(key);
  // The modes mean what they mean to psql; the driver alone would take some of them for stricter ones.
  if (url.searchParams.has('sslmode')) url.searchParams.set('uselibpqcompat', 'true');
  return url.href;
}

/** The options behind the question mark, read one by one. */
class Options {
  readonly #given: URLSearchParams;
  readonly #shown: string;

  constructor(parsed: URL, shown: string) {
    this.#given = parsed.searchParams;
    this.#shown = shown;
    for (const key of this.#given.keys()) {
      if (![...OWN, ...FOR_DRIVER].includes(key))
        throw this.#refusal(
          // A name that is none may be the rest of a password with a ? in it.
          /^\w{1,40}$/.test(key) ? `the option ${JSON.stringify(key)} is unknown` : 'an option is unknown',
          `This store knows ${[...OWN, ...FOR_DRIVER].join(', ')}.`,
        );
      if (this.#given.getAll(key).length > 1) throw this.#refusal(`the option ${key} is given twice`, HINT);
    }
  }

  has(key: string): boolean {
    return this.#given.has(key);
  }

  text(key: string, byDefault: string, isGood: (value: string) => boolean): string {
    const value = this.#given.get(key) ?? byDefault;
    if (isGood(value)) return value;
    throw this.#refusal(`${key} can not be ${shownValue(value)}`, HINT);
  }

  count(key: string, byDefault: number): number {
    return Number(this.text(key, String(byDefault), (value) => /^[1-9]\d{0,8}$/.test(value)));
  }

  flag(key: string): boolean {
    return this.text(key, 'on', (value) => value === 'on' || value === 'off') === 'on';
  }

  #refusal(message: string, hint: string): UsageError {
    return new UsageError('invalid_url', message, { hint, facts: { url: this.#shown } });
  }
}

/** A value as it may be printed: one that holds an @ may be the rest of a URL with its password. */
function shownValue(value: string): string {
  return value.includes('@') ? 'what is given' : JSON.stringify(value);
}
