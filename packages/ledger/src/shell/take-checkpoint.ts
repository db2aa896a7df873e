import type { Checkpoint, CheckpointClaims } from '../core/checkpoint.ts';
import { signCheckpoint } from '../core/checkpoint.ts';
import { chainHash, GENESIS_HASH } from '../core/event-hash.ts';
import { frozenDigest, toFrozenLine } from '../core/frozen-digest.ts';
import type { Clock } from '../ports/clock.ts';
import type { LedgerStore } from '../ports/ledger-store.ts';

/** How a checkpoint is taken. */
export interface CheckpointOptions {
  /** PEM text of an Ed25519 private key. */
  readonly privateKey: string;
  /** Takes the list of frozen fields, line by line, without newlines; the checkpoint then covers it. */
  readonly writeRow?: (line: string) => Promise<void>;
}

/** Signs where the ledger stands now. Reads only. @throws CheckpointError `invalid_key`. */
export async function takeCheckpoint(
  store: LedgerStore,
  clock: Clock,
  { privateKey, writeRow }: CheckpointOptions,
): Promise<Checkpoint> {
  const { seq, hash, epoch, incarnation } = await store.events.head();
  const claims: CheckpointClaims = {
    ledger_id: await ledgerId(store),
    seq,
    hash,
    epoch,
    incarnation,
    at: new Date(clock.now()).toISOString(),
    rows: null,
  };
  // Signed once before the rows are read: a key that is none is told at once.
  const withoutRows = signCheckpoint(claims, privateKey);
  if (writeRow === undefined) return withoutRows;
  return signCheckpoint({ ...claims, rows: await writeRows(store, writeRow) }, privateKey);
}

/** The hash of the first event, which tells one ledger from every other; null while there is none. */
export async function ledgerId(store: LedgerStore): Promise<string | null> {
  for await (const { event } of store.events.read({ limit: 1 })) return event.hash;
  return null;
}

async function writeRows(
  store: LedgerStore,
  writeRow: (line: string) => Promise<void>,
): Promise<NonNullable<CheckpointClaims['rows']>> {
  let count = 0;
  let hash = GENESIS_HASH;
  for await (const { row } of store.rows.list({ onProblem: () => undefined })) {
    const digest = frozenDigest(row);
    if (digest === null) continue;
    const line = toFrozenLine(digest);
    await writeRow(line);
    count += 1;
    hash = chainHash(hash, line);
  }
  return { count, hash };
}
