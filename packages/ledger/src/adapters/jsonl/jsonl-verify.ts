import { GENESIS_HASH } from '../../core/event-hash.ts';
import type { VerifyOptions, VerifyProblem, VerifyReport } from '../../ports/ledger-store.ts';
import { readToldLists } from '../sql/compare-healed.ts';
import { readHead } from '../sql/read-head.ts';
import { noteConflictingVerdicts } from '../sql/sql-verify.ts';
import type { Segment } from './chain-view.ts';
import { viewChain } from './chain-view.ts';
import { checkHeads } from './check-heads.ts';
import { followLog } from './follow-log.ts';
import type { IdConflict } from './ingest.ts';
import type { JsonlContext } from './jsonl-context.ts';
import type { OpenIndex } from './open-index.ts';
import { openPrivateIndex } from './open-index.ts';
import { ChainMovedError } from './segment-file.ts';
import { compareStored } from './stored-index.ts';
import { findTornLines } from './torn-lines.ts';
import { checkExpectedHead, conflictProblems, rowFindings, tornNotes } from './verify-findings.ts';

/** The log moves on while it is verified; more often than this something else is wrong. */
const MAX_ATTEMPTS = 5;

/** Replays the whole log into an index of its own and holds everything that is known from elsewhere against it. */
export async function verifyJsonl(context: JsonlContext, options: VerifyOptions): Promise<VerifyReport> {
  for (let attempt = 1; ; attempt += 1) {
    const view = viewChain(context.paths);
    if (!view.readable) return unreadable(view.error.message);
    const replay = await openPrivateIndex(context.newId);
    try {
      return await verifyView(context, { options, replay, segments: view.segments });
    } catch (error) {
      if (!(error instanceof ChainMovedError) || attempt >= MAX_ATTEMPTS) throw error;
    } finally {
      await replay.close();
    }
  }
}

function unreadable(message: string): VerifyReport {
  const problems: VerifyProblem[] = [{ code: 'log_unreadable', message }];
  return { ok: false, events: 0, head_seq: 0, head_hash: GENESIS_HASH, problems, notes: [] };
}

interface Verification {
  readonly options: VerifyOptions;
  readonly replay: OpenIndex;
  readonly segments: readonly Segment[];
}

async function verifyView(
  context: JsonlContext,
  { options, replay, segments }: Verification,
): Promise<VerifyReport> {
  const conflicts: IdConflict[] = [];
  await replay.db.transaction().execute((db) =>
    followLog(db, replay.context, segments, {
      newId: context.newId,
      onReplay: () => undefined,
      onConflicts: (found) => conflicts.push(...found),
    }),
  );
  const head = await readHead(replay.context.reader, replay.context.ledger);
  const noted = await checkHeads(context.paths, replay.context);
  const stored =
    options.rebuild === true
      ? await compareStored(context, replay.context, segments)
      : { problems: [], notes: [] };
  const rows = await rowFindings(
    context,
    options.rebuild === true ? await readToldLists(replay.context) : new Map(),
  );
  const problems = [
    ...conflictProblems(conflicts, segments),
    ...noted.problems,
    ...(await checkExpectedHead(replay.context, options)),
    ...stored.problems,
    ...rows.problems,
  ];
  const notes = [
    ...tornNotes(segments.flatMap((segment) => findTornLines(segment))),
    ...noted.notes,
    ...stored.notes,
    ...rows.notes,
    ...(await noteConflictingVerdicts(replay.context.reader, replay.context)),
  ];
  return {
    ok: problems.length === 0,
    events: head.seq,
    head_seq: head.seq,
    head_hash: head.hash,
    problems,
    notes,
  };
}
