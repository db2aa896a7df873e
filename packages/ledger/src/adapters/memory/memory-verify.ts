import { CustodyFold } from '../../core/custody-fold.ts';
import { chainHash, GENESIS_HASH } from '../../core/event-hash.ts';
import type { JsonValue } from '../../core/json.ts';
import { isSameJson } from '../../core/json.ts';
import { ManagedFold } from '../../core/managed/managed-fold.ts';
import { conflictingVerdictsOf } from '../../core/verdict-note.ts';
import type { VerifyOptions, VerifyProblem, VerifyReport } from '../../ports/ledger-store.ts';
import type { MemoryLog } from './memory-event-store.ts';

const MANAGED_RECORDS = ['tasks', 'submissions', 'questions'] as const;

const RECORDS = ['runs', 'invocations', 'evidence', 'tasks', 'containment'] as const;

/** Checks the chain, and on demand the fold against a replay, as every store does. */
export function verifyMemory(log: MemoryLog, options: VerifyOptions): VerifyReport {
  const chain = verifyChain(log, options);
  return {
    ok: chain.problems.length === 0,
    events: log.stored.length,
    head_seq: log.stored.length,
    head_hash: chain.hash,
    problems: chain.problems,
    notes: noteConflicts(log.fold),
  };
}

function verifyChain(
  log: MemoryLog,
  options: VerifyOptions,
): { readonly problems: readonly VerifyProblem[]; readonly hash: string } {
  const problems: VerifyProblem[] = [];
  let hash = GENESIS_HASH;
  for (const { event, text } of log.stored) {
    if (chainHash(hash, text) !== event.hash) {
      problems.push({
        code: 'hash_mismatch',
        message: 'the stored text does not continue the chain',
        seq: event.seq,
      });
    }
    if (options.expectHead?.seq === event.seq && options.expectHead.hash !== event.hash) {
      problems.push({
        code: 'head_not_in_chain',
        message: 'the expected head has another hash here',
        seq: event.seq,
      });
    }
    hash = event.hash;
  }
  const end = log.stored.length;
  if (options.expectHead !== undefined && options.expectHead.seq > end) {
    problems.push({
      code: 'truncated',
      message: `the log ends at ${end}, before the expected ${options.expectHead.seq}`,
      seq: end,
    });
  }
  return { problems: options.rebuild === true ? [...problems, ...compareFold(log)] : problems, hash };
}

/** What was folded event by event must be what one replay gives. */
function compareFold(log: MemoryLog): readonly VerifyProblem[] {
  const replay = new CustodyFold();
  for (const { event } of log.stored) replay.apply(event);
  const managed = new ManagedFold();
  for (const { event } of log.stored) managed.apply(event);
  const differs = [
    ...RECORDS.filter((name) => !isSameJson(toJson(log.fold[name]), toJson(replay[name]))),
    ...MANAGED_RECORDS.filter((name) => !isSameJson(toJson(log.managed[name]), toJson(managed[name]))),
    ...(isSameJson(toJson(withoutBeats(log.managed)), toJson(withoutBeats(managed))) ? [] : ['leases']),
  ];
  return differs.map((name) => ({
    code: 'table_mismatch',
    message: `${name} differ from a replay of the log`,
  }));
}

/** Signs of life are not in the log, nor is what follows from them. */
function withoutBeats(fold: ManagedFold): ReadonlyMap<string, unknown> {
  return new Map(
    [...fold.leases].map(([id, lease]) => [id, { ...lease, expires_at_ms: 0, heartbeat_at_ms: null }]),
  );
}

function toJson(records: Iterable<readonly [string, unknown]>): JsonValue {
  return JSON.parse(JSON.stringify(Object.fromEntries(records))) as JsonValue;
}

/** Verdicts that came after the first and differ: in the log, never applied. */
function noteConflicts(fold: CustodyFold): readonly VerifyProblem[] {
  return [...fold.runs.values()].filter((run) => run.conflicting_verdicts > 0).map(conflictingVerdictsOf);
}
