import type { CustodyTotals, JsonObject, Ledger } from '@custody/ledger';
import { isJsonObject, isSameJson, toEpochMillis } from '@custody/ledger';
import { parseDeferred } from '../core/deferred.ts';
import { parkedIds } from '../core/parked.ts';
import { CURSOR_DOCUMENT } from './cursor-pass.ts';
import { loadFailures } from './failure-log.ts';

/** The document that holds when each pass ran last, and what it did. */
const LAST_PASS_DOCUMENT = 'last_pass';

/** The figures of a ledger that an operator watches. */
export interface Stats extends CustodyTotals {
  readonly tasks: number;
  readonly open_questions: number;
  readonly open_faults: number;
  /** Events (lines, on a JSONL store) that the cursor pass has not looked at; a bound when there are many. */
  readonly cursor_lag: number;
  readonly deferred: number;
  readonly parked_items: number;
  /** By pass: `{at, ...counts}`. */
  readonly last_pass: JsonObject;
}

/** Reads the figures of a ledger. */
export async function readStats(ledger: Ledger): Promise<Stats> {
  const totals = await ledger.custody.totals();
  const cursor = await ledger.state.load(CURSOR_DOCUMENT);
  const scan = await ledger.scan.settledAfter(isJsonObject(cursor?.['position']) ? cursor['position'] : null);
  return {
    ...totals,
    tasks: await ledger.rows.count(),
    open_questions: ledger.managesTasks ? (await ledger.questions.list({ open: true })).length : 0,
    open_faults: (await ledger.custody.openFaults()).length,
    cursor_lag: scan.outcome === 'scanned' ? scan.scanned : totals.events,
    deferred: parseDeferred(cursor).size,
    parked_items: parkedIds(await loadFailures(ledger.state)).size,
    last_pass: (await ledger.state.load(LAST_PASS_DOCUMENT)) ?? {},
  };
}

/** A pass that found what the one before it found is noted again only after this long, so that idle sweeps cost no write. */
const NOTE_EVERY_MS = 10_000;

/** Notes that a pass ran. Passes of different names never overwrite each other's note. */
export async function recordPass(ledger: Ledger, name: string, counts: JsonObject): Promise<void> {
  const known = (await ledger.state.load(LAST_PASS_DOCUMENT)) ?? {};
  const last = known[name];
  if (isJsonObject(last)) {
    const { at, ...found } = last;
    const age = ledger.clock.now() - toEpochMillis(String(at));
    if (isSameJson(found, counts) && age >= 0 && age < NOTE_EVERY_MS) return;
  }
  await ledger.state.save(LAST_PASS_DOCUMENT, {
    ...known,
    [name]: { at: new Date(ledger.clock.now()).toISOString(), ...counts },
  });
}
