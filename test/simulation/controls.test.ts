import type { PlaceKind, PromiseName, Seams, Step } from '@custody/cli/simulation';
import { generateSteps, openPlace, simulate } from '@custody/cli/simulation';
import { describe, expect, test } from 'vitest';
import * as decisions from '../support/guards-off/weak-decisions.ts';
import * as gateway from '../support/guards-off/weak-gateway.ts';
import * as lines from '../support/guards-off/weak-lines.ts';
import * as log from '../support/guards-off/weak-log.ts';
import * as rows from '../support/guards-off/weak-rows.ts';
import { naiveOracle } from '../support/naive-oracle.ts';

const STEPS = 80;
/** Seeds until one must have told. */
const MOST_SEEDS = 300;

type Edit = (step: Step) => Step | null;

/** A guard that is left out, and the promises of which one must be seen to break. */
interface Control {
  readonly guard: string;
  readonly seams: Seams;
  readonly promises: readonly PromiseName[];
  readonly on?: PlaceKind;
  /** What every history looks like; null = without the step. @default as it is */
  readonly edit?: Edit;
}

/** A fault without which the missing guard goes unnoticed: it is the fault that tells. */
interface FaultControl extends Control {
  readonly fault: string;
  /** The step without the fault; null = no step at all. */
  readonly without: Edit;
}

function play(seed: number, { seams, on = 'memory', edit }: Control, without?: Edit) {
  const edits = [edit, without].filter((item) => item !== undefined);
  return simulate({
    steps: edits.reduce<readonly Step[]>(
      (steps, change) => steps.flatMap((step) => change(step) ?? []),
      generateSteps(seed, STEPS),
    ),
    openPlace: (newId) => openPlace(on, newId),
    oracle: naiveOracle,
    seams,
  });
}

/** The first seed that notices that the guard is gone. */
async function firstToTell(
  control: Control,
): Promise<{ readonly seed: number; readonly promise: string; readonly message: string }> {
  for (let seed = 1; seed <= MOST_SEEDS; seed += 1) {
    const { failure } = await play(seed, control);
    if (failure !== null) return { seed, promise: failure.promise, message: failure.message };
  }
  throw new Error(`${MOST_SEEDS} seeds did not miss the guard`);
}

const CRASHES = ['crash_before', 'crash_inside', 'crash_after'];
const PASSES = ['sweep', 'backfill', 'clear'];
const MESSAGES = ['start', 'finish', 'deliver', 'duplicate', 'leave', 'unreadable', 'row', ...PASSES];
const COMMANDS = [
  'create',
  'claim',
  'submit',
  'push',
  'ask',
  'answer',
  'take',
  'park',
  'advance',
  'block',
  'replay',
  'link',
];

/** Keeps commands of holders and what makes them stale. */
const onlyCommands: Edit = (step) => (COMMANDS.includes(step.kind) ? step : null);

const GUARDS: readonly Control[] = [
  { guard: 'no event is edited', seams: log.editedEvent, promises: ['P2'] },
  { guard: 'every row that may be untrue is selected', seams: rows.selectsTooFew, promises: ['P3'] },
  { guard: 'the write guard of rows that have ended', seams: rows.openRows, promises: ['P4'] },
  { guard: 'no-churn comparison of disclosures', seams: rows.churns, promises: ['P5', 'P6'] },
  { guard: 'evidence of each heal', seams: rows.silentHeals, promises: ['P6'] },
  { guard: 'the scan names every task whose run ended', seams: rows.skippedEnds, promises: ['P7'] },
  { guard: 'healers make no rows', seams: rows.mintsRows, promises: ['P8'] },
  { guard: 'fence of a holder’s write', seams: decisions.noFence, promises: ['P9', 'P14'] },
  { guard: 'epoch of a write', seams: log.anyEpoch, promises: ['P9'] },
  {
    guard: 'a submit’s key is known',
    seams: decisions.forgottenKeys,
    promises: ['P10'],
    edit: onlyCommands,
  },
  { guard: 'a held task is given to nobody else', seams: decisions.doubleClaims, promises: ['P11'] },
  {
    guard: 'a verdict is delivered once',
    seams: decisions.repeatedVerdicts,
    promises: ['P12'],
    edit: onlyCommands,
  },
  {
    guard: 'a replay’s task is unchanged since the run ended',
    seams: decisions.lateReplays,
    promises: ['P13'],
  },
  { guard: 'a batch with a bad event is refused whole', seams: log.partialBatches, promises: ['P14'] },
  { guard: 'nothing is stopped unless somebody meant it', seams: gateway.tidiesUp, promises: ['P16'] },
];

/** Leaves out steps of some kinds. */
const no =
  (...kinds: readonly Step['kind'][]): Edit =>
  (step) =>
    kinds.includes(step.kind) ? null : step;
/** Leaves out faults of some kinds at calls of the store. */
const unstruck =
  (...kinds: readonly string[]): Edit =>
  (step) => {
    const { strike, ...rest } = step;
    return strike !== undefined && kinds.includes(strike.kind) ? rest : step;
  };
/** Lets each step end before the next one begins. */
const alone: Edit = ({ together: _, ...step }) => step;
const inTurn =
  (...edits: readonly Edit[]): Edit =>
  (step) =>
    edits.reduce<Step | null>((left, edit) => (left === null ? null : edit(left)), step);
/** Lets the executor be reached in one of two ways only: well, or as it says here. */
const reached =
  (how: 2 | 3 | 4): Edit =>
  (step) =>
    step.kind === 'gateway' ? { ...step, a: step.a % 5 === how ? how : 0 } : step;

/** Lets answers alone be what makes a sweep send a start twice: the executor never got it before, and no write fails. */
const onlyResubmitted: Edit = inTurn(
  alone,
  no('restart', 'failover'),
  unstruck(...CRASHES, 'lock_timeout', 'disk_full'),
  reached(2),
  (step) => {
    if (step.kind === 'request' || step.kind === 'leave') return { ...step, kind: 'request', b: 0 };
    return step.kind === 'start' ? { ...step, b: 1 } : step;
  },
);

/** Keeps what messages and rows come from: disks are slow. */
const onlyMessages: Edit = (step) => (MESSAGES.includes(step.kind) ? step : null);
/** Lets starts of one task run into the backfills of its row, which has ended. */
const intoBackfills: Edit = inTurn(onlyMessages, (step) => {
  if (PASSES.includes(step.kind)) return { ...step, kind: 'backfill', c: step.c * 5 + 3, together: true };
  const ofOneTask = { ...step, a: step.a - (step.a % 4), c: step.c * 5 + 4 };
  if (step.kind === 'row') return { ...ofOneTask, b: 1 };
  return ['finish', 'deliver'].includes(step.kind) ? step : { ...ofOneTask, kind: 'start' };
});
/** Makes of every step without a readable log one that damages what stands on disk. */
const damaged =
  (number: number): Edit =>
  (step) =>
    step.kind === 'unreadable' ? { ...step, a: 1, b: number } : step;

const FAULTS: readonly FaultControl[] = [
  {
    fault: 'a crash',
    guard: 'nothing is acknowledged before it is durable',
    seams: log.lateWrites,
    // What is lost is sent again, and taken as if it had never been there.
    promises: ['P1', 'P10'],
    // A process ends in the middle of a step, right after it was told that its message is there.
    edit: inTurn(onlyMessages, alone, no('duplicate'), unstruck('lock_timeout', 'disk_full'), (step) =>
      step.kind === 'leave'
        ? { ...step, kind: 'planned', a: 1, strike: { kind: 'crash_before', at: 2 + (step.b % 8) } }
        : step,
    ),
    without: inTurn(no('restart'), unstruck(...CRASHES)),
  },
  {
    fault: 'a crash before a call',
    guard: 'the cursor moves when the work is done',
    seams: rows.earlyCursor,
    promises: ['P7'],
    edit: (step) =>
      step.kind === 'sweep'
        ? { ...step, strike: { kind: 'crash_before', at: step.b % 25 } }
        : inTurn(onlyMessages, unstruck('lock_timeout', 'disk_full'))(step),
    without: inTurn(no('restart'), unstruck(...CRASHES)),
  },
  {
    fault: 'a crash inside of a transaction',
    guard: 'row and evidence are written together',
    seams: rows.separateEvidence,
    promises: ['P6'],
    on: 'sqlite',
    edit: inTurn(onlyMessages, (step) =>
      PASSES.includes(step.kind) ? { ...step, strike: { kind: 'crash_inside', at: step.a % 9 } } : step,
    ),
    without: inTurn(no('restart'), unstruck(...CRASHES)),
  },
  {
    fault: 'a crash after a call',
    guard: 'a message keeps its id',
    seams: log.forgottenIds,
    promises: ['P10'],
    edit: inTurn(alone, no('duplicate', 'restart')),
    without: unstruck(...CRASHES),
  },
  {
    fault: 'a message that comes again',
    guard: 'a known id is a duplicate',
    seams: log.forgottenIds,
    promises: ['P10'],
    edit: inTurn(alone, no('restart'), unstruck(...CRASHES)),
    without: no('duplicate'),
  },
  {
    fault: 'messages out of order',
    guard: 'an end may come before its start',
    seams: log.endsBeforeStarts,
    promises: ['P1'],
    edit: inTurn(alone, no('duplicate', 'request')),
    without: (step) => (['deliver', 'planned'].includes(step.kind) ? { ...step, a: 0 } : step),
  },
  {
    fault: 'a message that is lost',
    guard: 'a sweep asks for ended runs',
    seams: gateway.deafToEnds,
    promises: ['P7'],
    without: no('lose'),
  },
  {
    fault: 'a run that vanishes',
    guard: 'an absent run is closed',
    seams: gateway.deafToAbsence,
    promises: ['P7'],
    without: no('vanish'),
  },
  {
    fault: 'a dead gateway',
    guard: 'only an answer means absent',
    seams: gateway.unknownIsAbsent,
    promises: ['P15'],
    edit: reached(3),
    without: no('gateway'),
  },
  {
    fault: 'a gateway that talks nonsense',
    guard: 'only an answer means absent',
    seams: gateway.unknownIsAbsent,
    promises: ['P15'],
    edit: reached(4),
    without: no('gateway'),
  },
  {
    fault: 'a gateway that answers too late',
    guard: 'only an answer means absent',
    seams: gateway.unknownIsAbsent,
    promises: ['P15'],
    edit: reached(2),
    without: no('gateway'),
  },
  {
    fault: 'a gateway that answers too late',
    guard: 'a start is sent again under its own key',
    seams: gateway.freshKeys,
    promises: ['P10'],
    edit: onlyResubmitted,
    without: no('gateway'),
  },
  {
    fault: 'steps that run into each other',
    guard: 'a heal is bound to what its plan was made from',
    seams: rows.unboundHeals,
    promises: ['P3'],
    edit: intoBackfills,
    without: alone,
  },
  {
    fault: 'an unreadable log',
    guard: 'an audit fails closed',
    seams: gateway.unreadableIsEmpty,
    promises: ['P15', 'P3'],
    edit: onlyMessages,
    without: no('unreadable'),
  },
  {
    fault: 'a holder that pauses',
    guard: 'fence of a holder’s write',
    seams: decisions.noFenceAfterExpiry,
    promises: ['P9'],
    edit: no('skew'),
    without: no('advance'),
  },
  {
    fault: 'a clock that is off',
    guard: 'the fence is asked, not the clock',
    seams: decisions.trustedClocks,
    promises: ['P9'],
    edit: no('exit', 'end_process'),
    without: no('skew'),
  },
  {
    fault: 'a lock that is not free in time',
    guard: 'a refused write writes nothing',
    seams: log.writesAllTheSame('lock_timeout'),
    promises: ['P14'],
    without: unstruck('lock_timeout'),
  },
  {
    fault: 'a full disk',
    guard: 'a failed write writes nothing',
    seams: log.writesAllTheSame('disk_full'),
    promises: ['P14'],
    without: unstruck('disk_full'),
  },
  {
    fault: 'a torn line',
    guard: 'a cut tail gets its newline',
    seams: lines.blindLines,
    promises: ['P1'],
    on: 'jsonl',
    edit: inTurn(onlyMessages, alone, no('duplicate'), unstruck(...CRASHES), damaged(1)),
    without: no('unreadable'),
  },
  {
    fault: 'an index that is lost',
    guard: 'a lost index is made anew from the log',
    seams: lines.emptyIndex,
    promises: ['P10'],
    on: 'jsonl',
    edit: inTurn(onlyMessages, alone, unstruck(...CRASHES), damaged(3)),
    without: no('unreadable'),
  },
];

describe('a guard that is left out is missed', () => {
  test.each(GUARDS)(
    '$guard',
    async (control) => {
      const told = await firstToTell(control);

      expect(control.promises, told.message).toContain(told.promise);
    },
    180_000,
  );

  test.each(FAULTS)(
    '$guard: $fault tells, and nothing else',
    async (control) => {
      const told = await firstToTell(control);

      expect(control.promises, told.message).toContain(told.promise);
      for (let seed = 1; seed <= told.seed; seed += 1)
        expect((await play(seed, control, control.without)).failure).toBeNull();
    },
    180_000,
  );
});
