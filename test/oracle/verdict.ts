import type { JsonObject } from './json.ts';
import { text } from './json.ts';

/** How the rows of one run say that it ended. */
export interface Verdict {
  /** The row that decides state and cost: a SETTLED row, or a CLOSED_ABSENT row where no other exists. */
  readonly row: JsonObject;
  readonly isAbsent: boolean;
  /** Empty when nothing tells. */
  readonly state: string;
}

/**
 * The verdict of each run among the given rows, in the order in which the runs were first closed. The first
 * SETTLED row with a state decides; one without a state decides only where no other has one.
 */
export function verdictsOf(rows: readonly JsonObject[]): Map<string, Verdict> {
  const verdicts = new Map<string, Verdict>();
  for (const row of rows) {
    const runId = text(row, 'run_id');
    const type = text(row, 'type');
    if (runId === '') continue;
    if (type === 'delegate_run_settled') {
      const known = verdicts.get(runId);
      const next = { row, isAbsent: false, state: text(row, 'state') };
      if (known === undefined || known.isAbsent || (known.state === '' && next.state !== '')) {
        verdicts.set(runId, next);
      }
    } else if (type === 'delegate_run_closed_absent' && !verdicts.has(runId)) {
      verdicts.set(runId, { row, isAbsent: true, state: '' });
    }
  }
  return verdicts;
}
