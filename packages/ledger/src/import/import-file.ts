import type { Segment } from '../adapters/jsonl/chain-view.ts';
import { lookAt } from '../adapters/jsonl/chain-view.ts';
import { readTextLines } from '../adapters/jsonl/text-lines.ts';
import { lacksNewline } from '../adapters/jsonl/torn-lines.ts';
import { isKnownType } from '../core/event-types.ts';
import { isJsonObject, textOf } from '../core/json.ts';
import type { StoredEvent } from '../core/recorded-event.ts';
import { InvalidEventError } from '../errors.ts';
import type { Ledger } from '../shell/ledger.ts';
import { EventSink } from './event-sink.ts';
import { ExportCheck, parseExportedLine, toWriterEvent } from './exported-lines.ts';
import type { ImportOptions, ImportResult } from './import-result.ts';
import { LineSource } from './line-source.ts';

/**
 * Imports a file of JSON Lines: an export of a ledger, or events one a line.
 *
 * @throws InvalidEventError if a line of an export was changed, or stands for another event here; `facts.line` says which.
 */
export async function importFile(
  ledger: Ledger,
  path: string,
  options: ImportOptions,
): Promise<ImportResult> {
  const file = lookAt(path, path);
  const sink = new EventSink(ledger, file.size, options);
  if (isExport(file)) await importExport(file, sink);
  else await importLines(file, sink);
  await sink.flush(file.size);
  return sink.result(file.size);
}

async function importLines(file: Segment, sink: EventSink): Promise<void> {
  const source = new LineSource(sink, whyNoEvent);
  await source.take(file, 0);
  if (lacksNewline(file)) await source.takeLastLine(file);
}

/** Why a line of a file of events is none. */
function whyNoEvent(line: Uint8Array): string {
  let value: unknown;
  try {
    value = JSON.parse(Buffer.from(line).toString('utf8'));
  } catch {
    return 'no JSON';
  }
  if (!isJsonObject(value)) return 'no JSON object';
  if (textOf(value, 'type') === '') return 'without a type';
  return isKnownType(textOf(value, 'type')) ? 'a field is missing or wrong' : 'of an unknown type';
}

/** The first line that is not blank decides. */
function isExport(file: Segment): boolean {
  for (const { text } of readTextLines(file)) return parseExportedLine(text) !== null;
  return false;
}

/** The whole file is checked before any of it is taken. */
async function importExport(file: Segment, sink: EventSink): Promise<void> {
  const check = new ExportCheck();
  for (const { text, line } of readTextLines(file)) check.add(exportedLine(text, line), line);
  const isExact = check.isExact();
  for (const { text, line, end } of readTextLines(file)) {
    const stored = exportedLine(text, line);
    const item = { event: toWriterEvent(stored.event), place: file.name, line };
    await sink.add(isExact ? { ...item, exact: stored } : item, { characters: text.length, bytesDone: end });
  }
}

function exportedLine(text: string, line: number): StoredEvent {
  const stored = parseExportedLine(text);
  if (stored !== null) return stored;
  throw new InvalidEventError('invalid_event', `line ${line} is no exported event`, {
    field: null,
    index: line - 1,
    hint: 'Export it again; nothing of this file was imported.',
    facts: { line, appended: 0 },
  });
}
