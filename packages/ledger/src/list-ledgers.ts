import { parseStoreUrl } from './core/store-url.ts';
import { UsageError } from './errors.ts';

/** A ledger of a database. */
export interface LedgerPlace {
  /** Its name there. */
  readonly ledger: string;
  /** The store URL of this ledger and no other. */
  readonly url: string;
}

/** The name of a ledger that is alone in its store. */
const ALONE = 'main';

/**
 * The ledgers of the database at a store URL, sorted by name; the ledger that the URL itself names does not matter. A
 * store of any other kind holds one. Reads only.
 *
 * @throws UsageError for a URL that names no store; `not_supported` for a served ledger, whose database is elsewhere.
 * @throws StoreError `store_missing` if there is no such database.
 */
export async function listLedgers(url: string): Promise<readonly LedgerPlace[]> {
  const location = parseStoreUrl(url);
  if (location.kind === 'http')
    throw new UsageError('not_supported', 'a server serves one ledger and knows no others', {
      hint: 'Ask the database itself, with its postgres: URL.',
      facts: { url: location.origin },
    });
  if (location.kind !== 'postgres') return [{ ledger: ALONE, url }];
  const { listPostgresLedgers } = await import('./adapters/postgres/open-postgres.ts');
  const names = await listPostgresLedgers(location);
  return names.map((ledger) => ({ ledger, url: urlOf(url, ledger) }));
}

function urlOf(url: string, ledger: string): string {
  const place = new URL(url);
  place.searchParams.set('ledger', ledger);
  return place.href;
}
