import { TestRunner } from 'vitest';

declare module 'vitest' {
  interface TaskMeta {
    /** What the test counted, for the end of the run. */
    figures?: Figure[];
  }
}

/** What the figures of a run are about, each of them a line at its end. */
export type Subject =
  | 'hostile inputs'
  | 'tamperings'
  | 'kills'
  | 'lost by kills'
  | 'simulated seeds'
  | 'simulated steps'
  | 'simulated faults'
  | 'simulated checks';

/** One count of a test. */
export interface Figure {
  readonly subject: Subject;
  readonly kind: string;
  readonly count: number;
}

/** Counts for the lines at the end of the run, under the test that is running. */
export function countFigures(
  subject: Subject,
  counts: Iterable<readonly [kind: string, count: number]>,
): void {
  const test = TestRunner.getCurrentTest();
  if (test === undefined) throw new Error('figures are counted inside of a test');
  test.meta.figures ??= [];
  for (const [kind, count] of counts) test.meta.figures.push({ subject, kind, count });
}

/** Counts kills of one kind, and what was acknowledged before one and is not there after it. */
export function countKills(kind: string, kills: number, lost: number): void {
  countFigures('kills', [[kind, kills]]);
  countFigures('lost by kills', [[kind, lost]]);
}

/** The figures of a run as lines: `subject: total (kind count, ...)`. */
export function figureLines(figures: readonly Figure[]): readonly string[] {
  const subjects = new Map<string, Map<string, number>>();
  for (const { subject, kind, count } of figures) {
    const kinds = subjects.get(subject) ?? new Map<string, number>();
    kinds.set(kind, (kinds.get(kind) ?? 0) + count);
    subjects.set(subject, kinds);
  }
  return sorted(subjects).map(([subject, kinds]) => {
    const total = [...kinds.values()].reduce((sum, count) => sum + count, 0);
    const parts = sorted(kinds)
      .filter(([, count]) => count > 0)
      .map(([kind, count]) => `${kind} ${count}`);
    return `${subject}: ${total}${parts.length === 0 ? '' : ` (${parts.join(', ')})`}`;
  });
}

/** By name, P2 before P10. */
function sorted<T>(named: ReadonlyMap<string, T>): readonly (readonly [string, T])[] {
  return [...named].sort(([left], [right]) => left.localeCompare(right, 'en', { numeric: true }));
}
