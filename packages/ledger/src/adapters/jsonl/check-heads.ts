import { isJsonObject } from '../../core/json.ts';
import type { VerifyProblem } from '../../ports/ledger-store.ts';
import type { SqlContext } from '../sql/tables.ts';
import { lookIfThere } from './chain-view.ts';
import type { RootPaths } from './root-paths.ts';
import { readTextLines } from './text-lines.ts';

/** A head that was noted when the log was as long as it says. */
interface NotedHead {
  readonly seq: number;
  readonly hash: string;
}

/** What the noted heads say of the log, as a replay shows it. */
export interface HeadFindings {
  readonly problems: readonly VerifyProblem[];
  readonly notes: readonly VerifyProblem[];
}

/** More would say nothing new: the first bad head tells between which events the log was changed. */
const MAX_PROBLEMS = 10;

const FILE = 'state/custody.heads.jsonl';

/** Holds every noted head against a replay of the log. */
export async function checkHeads(paths: RootPaths, replay: SqlContext): Promise<HeadFindings> {
  const problems: VerifyProblem[] = [];
  const notes: VerifyProblem[] = [];
  let goodSeq = 0;
  const file = lookIfThere(FILE, paths.heads);
  for (const { text, line } of file === null ? [] : readTextLines(file)) {
    const head = parseHead(text);
    if (head === null) {
      notes.push({ code: 'torn_line', message: 'a head that can’t be read', file: FILE, line });
      continue;
    }
    const problem = await checkHead(replay, head, goodSeq);
    if (problem === null) goodSeq = Math.max(goodSeq, head.seq);
    else if (problems.length < MAX_PROBLEMS) problems.push({ ...problem, file: FILE, line });
  }
  return { problems, notes };
}

function parseHead(text: string): NotedHead | null {
  try {
    const value: unknown = JSON.parse(text);
    if (!isJsonObject(value)) return null;
    const { seq, hash } = value;
    return typeof seq === 'number' && Number.isSafeInteger(seq) && typeof hash === 'string'
      ? { seq, hash }
      : null;
  } catch {
    return null;
  }
}

/** Why a head does not fit the log; null if it does. */
export async function checkHead(
  { reader, ledger }: SqlContext,
  head: NotedHead,
  goodSeq: number,
): Promise<VerifyProblem | null> {
  if (head.seq === 0) return null;
  const event = await reader
    .selectFrom('event')
    .select('hash')
    .where('ledger', '=', ledger)
    .where('seq', '=', head.seq)
    .executeTakeFirst();
  if (event === undefined) {
    return {
      code: 'truncated',
      message: `the log ends before event ${head.seq}, which it had`,
      seq: head.seq,
    };
  }
  if (event.hash === head.hash) return null;
  return {
    code: 'head_not_in_chain',
    seq: head.seq,
    message: `a line behind event ${goodSeq} and up to event ${head.seq} was changed, added or removed after it was recorded`,
  };
}
