import type { VerifyOptions, VerifyProblem } from '../../ports/ledger-store.ts';
import type { ToldLists } from '../sql/compare-healed.ts';
import { healedFault } from '../sql/compare-healed.ts';
import type { SqlContext } from '../sql/tables.ts';
import type { Segment } from './chain-view.ts';
import { checkHead } from './check-heads.ts';
import type { IdConflict } from './ingest.ts';
import type { JsonlContext } from './jsonl-context.ts';
import { jsonlTaskRows } from './jsonl-task-rows.ts';
import { MAX_LINE_BYTES, readLineBlocks } from './line-reader.ts';
import { withSegment } from './segment-file.ts';
import type { TornLine } from './torn-lines.ts';

/** Findings of one kind; the last one tells how many there are beyond. */
const MAX_FINDINGS = 100;

const NEWLINE = 0x0a;

/** Holds the log against a head that is known from elsewhere. */
export async function checkExpectedHead(
  replay: SqlContext,
  { expectHead }: VerifyOptions,
): Promise<readonly VerifyProblem[]> {
  if (expectHead === undefined) return [];
  const problem = await checkHead(replay, expectHead, 0);
  return problem === null ? [] : [problem];
}

/** Rows that use the id of another event: they are in the log, and no events. */
export function conflictProblems(
  conflicts: readonly IdConflict[],
  segments: readonly Segment[],
): readonly VerifyProblem[] {
  const problems = conflicts.slice(0, MAX_FINDINGS).map(
    ({ id, offset, recorded_seq }): VerifyProblem => ({
      code: 'event_id_conflict',
      seq: recorded_seq,
      ...placeOf(offset, segments),
      message: `the id ${id} stands for event ${recorded_seq} already, which says something else; this row is not folded`,
    }),
  );
  return withRest(problems, conflicts.length, 'event_id_conflict');
}

function placeOf(
  offset: number,
  segments: readonly Segment[],
): { readonly file: string; readonly line: number } | undefined {
  let start = 0;
  for (const segment of segments) {
    if (offset < start + segment.size) return { file: segment.name, line: lineAt(segment, offset - start) };
    start += segment.size;
  }
  return undefined;
}

function lineAt(segment: Segment, offset: number): number {
  return withSegment(segment, (fd) => {
    let line = 1;
    for (const block of readLineBlocks(fd, 0, offset)) {
      for (const byte of block.bytes) if (byte === NEWLINE) line += 1;
    }
    return line;
  });
}

/** Lines that were cut, or are too long: their bytes are kept, and nothing is read from them. */
export function tornNotes(torn: readonly TornLine[]): readonly VerifyProblem[] {
  const notes = torn.slice(0, MAX_FINDINGS).map(
    (found): VerifyProblem => ({
      code: found.isLong ? 'long_line' : 'torn_line',
      file: found.file,
      line: found.line,
      message: tornMessage(found),
    }),
  );
  return withRest(notes, torn.length, 'torn_line');
}

function tornMessage({ hasNewline, isLong }: TornLine): string {
  if (isLong) return `the line is longer than ${MAX_LINE_BYTES} bytes; nothing is read from it`;
  return hasNewline ? 'the line is not JSON; it was cut when it was written' : 'the line lacks its newline';
}

/** Files among the rows that are no rows of ours, and rows that do not stand as their newest heal left them. */
export async function rowFindings(
  context: JsonlContext,
  told: ToldLists,
): Promise<{ readonly problems: readonly VerifyProblem[]; readonly notes: readonly VerifyProblem[] }> {
  const notes: VerifyProblem[] = [];
  const problems: VerifyProblem[] = [];
  const rows = jsonlTaskRows(context).list({
    onProblem: ({ task_id, place, message }) => {
      notes.push({
        code: task_id === null ? 'stray_file' : 'unreadable_row',
        message,
        file: place,
        ...(task_id === null ? {} : { task_id }),
      });
    },
  });
  for await (const { row } of rows) {
    const fault = healedFault(row, told);
    if (fault !== null) problems.push(fault);
  }
  return {
    problems: withRest(problems.slice(0, MAX_FINDINGS), problems.length, 'row_mismatch'),
    notes: withRest(notes.slice(0, MAX_FINDINGS), notes.length, 'unreadable_row'),
  };
}

function withRest(findings: readonly VerifyProblem[], count: number, code: string): readonly VerifyProblem[] {
  if (count <= findings.length) return findings;
  return [...findings, { code, message: `and ${count - findings.length} more` }];
}
