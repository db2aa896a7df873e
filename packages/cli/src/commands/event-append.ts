import type { AppendResult, Ledger, NewEvent } from '@custody/ledger';
import type { CommandContext } from '../command-context.ts';
import type { CliErrorCode } from '../errors.ts';
import { CliError, toError } from '../errors.ts';
import type { ExitCode } from '../exit-code.ts';
import { EXIT } from '../exit-code.ts';
import type { InputLine } from '../input/byte-lines.ts';
import { byteLines } from '../input/byte-lines.ts';
import { openInput } from '../input/open-input.ts';
import { parseJsonLine } from '../input/parse-json-line.ts';
import { withLedger } from '../open-store.ts';
import type { PlannedError } from '../output/error-report.ts';
import { isPlanned } from '../output/error-report.ts';
import { printReport } from '../output/report.ts';

/** Options of `event append`. */
export interface EventAppendOptions {
  /** Path of JSON Lines; stdin when absent or `-`. */
  readonly file?: string | undefined;
  /** All events or none; holds the input in memory. */
  readonly atomic?: boolean | undefined;
}

interface Totals {
  appended: number;
  duplicates: number;
  first_seq: number | null;
  last_seq: number | null;
}

/** One event with the line it came from. */
interface Offered {
  readonly line: number;
  readonly event: NewEvent;
}

/** The first event of a batch that the ledger refused. */
interface Refused {
  readonly index: number;
  readonly error: PlannedError;
}

/**
 * Appends events from JSON Lines. What a piece of input completed is one commit; at a bad line the lines before it
 * are written, and the error says how many those were. With `atomic` everything is one commit or nothing is.
 */
export async function eventAppend(context: CommandContext, options: EventAppendOptions): Promise<ExitCode> {
  const totals: Totals = { appended: 0, duplicates: 0, first_seq: null, last_seq: null };
  const batches = byteLines(openInput(context, options.file));
  try {
    if (options.atomic === true) await appendTogether(context, batches, totals);
    else await appendAsTheyCome(context, batches, totals);
  } catch (error) {
    throw withTotals(error, totals);
  } finally {
    // Input that is not read to its end would keep the process waiting for more.
    await batches.return();
  }
  await printReport(context, totals, () => humanTotals(totals));
  return EXIT.done;
}

async function appendTogether(
  context: CommandContext,
  batches: AsyncIterable<readonly InputLine[]>,
  totals: Totals,
): Promise<void> {
  const offered: Offered[] = [];
  for await (const lines of batches) {
    for (const line of lines) offered.push(await readEvent(line));
  }
  await withLedger(context, 'create', async (ledger) => {
    const refused = await tryAppend(ledger, offered, totals);
    if (refused !== null) throw atLine(refused, offered);
  });
}

async function appendAsTheyCome(
  context: CommandContext,
  batches: AsyncGenerator<readonly InputLine[], void>,
  totals: Totals,
): Promise<void> {
  // The first event is judged before the store is opened: input that is wrong from the start makes no store.
  const first = await batches.next();
  const lines = first.done === true ? [] : first.value;
  for (const line of lines.slice(0, 1)) await readEvent(line);
  await withLedger(context, 'create', async (ledger) => {
    await appendLines(ledger, lines, totals);
    for await (const more of batches) await appendLines(ledger, more, totals);
  });
}

/** An event that the ledger would take, as far as one can tell without its log. */
async function readEvent(line: InputLine): Promise<Offered> {
  const { parseNewEvent } = await import('@custody/ledger');
  const offered = { line: line.number, event: parseJsonLine(line) as NewEvent };
  try {
    parseNewEvent(offered.event, 0);
    return offered;
  } catch (error) {
    throw isPlanned(error) ? atLine({ index: 0, error }, [offered]) : error;
  }
}

/** Appends lines up to the first bad one, be it bad as JSON or as an event. */
async function appendLines(ledger: Ledger, lines: readonly InputLine[], totals: Totals): Promise<void> {
  const offered: Offered[] = [];
  let fault: Error | null = null;
  for (const line of lines) {
    try {
      offered.push({ line: line.number, event: parseJsonLine(line) as NewEvent });
    } catch (error) {
      fault = toError(error);
      break;
    }
  }
  const refused = await tryAppend(ledger, offered, totals);
  if (refused !== null) {
    await tryAppend(ledger, offered.slice(0, refused.index), totals);
    throw atLine(refused, offered);
  }
  if (fault !== null) throw fault;
}

/** One commit. Only the refusal of one of its events comes back as a value. */
async function tryAppend(
  ledger: Ledger,
  offered: readonly Offered[],
  totals: Totals,
): Promise<Refused | null> {
  if (offered.length === 0) return null;
  try {
    count(totals, await ledger.append(offered.map((item) => item.event)));
    return null;
  } catch (error) {
    const index = isPlanned(error) ? error.facts['index'] : undefined;
    if (!isPlanned(error) || typeof index !== 'number') throw error;
    return { index, error };
  }
}

function count(totals: Totals, result: AppendResult): void {
  totals.appended += result.appended;
  totals.duplicates += result.duplicates;
  totals.first_seq ??= result.first_seq;
  totals.last_seq = result.last_seq ?? totals.last_seq;
}

/** The ledger's refusal, told by the line of the input instead of by the place in a batch. */
function atLine({ index, error }: Refused, offered: readonly Offered[]): CliError {
  const line = offered[index]?.line ?? null;
  const { index: _index, ...facts } = error.facts;
  const hint = error.hint.includes('batch') ? 'Correct the line and append it again.' : error.hint;
  return new CliError(error.code as CliErrorCode, `line ${line}: ${error.message}`, {
    hint,
    facts: { line, ...facts },
    cause: error,
  });
}

/** Says beside any planned error how much was written before it. */
function withTotals(error: unknown, { appended, duplicates }: Totals): unknown {
  if (!isPlanned(error)) return error;
  const hint =
    appended === 0 ? `${error.hint} Nothing was written.` : `${error.hint} The lines before it are written.`;
  return new CliError(error.code as CliErrorCode, error.message, {
    hint,
    facts: { ...error.facts, appended, duplicates },
    cause: error,
  });
}

function humanTotals({ appended, duplicates, first_seq, last_seq }: Totals): string {
  const place =
    first_seq === null ? '' : ` as seq ${first_seq}${first_seq === last_seq ? '' : ` to ${last_seq}`}`;
  return `${appended} appended${place}${duplicates > 0 ? `, ${duplicates} already there` : ''}`;
}
