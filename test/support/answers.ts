import { renameSync } from 'node:fs';
import type { Ledger } from '@custody/ledger';
import { openLedger } from '@custody/ledger';
import { expect } from 'vitest';
import { collect } from './collect.ts';
import type { ForeignRoot } from './foreign-root.ts';

/** Everything that a ledger says of its log. */
export async function answersOf(ledger: Ledger) {
  const events = await collect(ledger.read());
  const runIds = [...new Set(events.map(({ event }) => String(event['run_id'])))];
  const { seq, hash } = await ledger.head();
  return {
    seq,
    hash,
    events: events.map(({ text, event }) => [text, event.hash]),
    runs: await Promise.all(runIds.map((id) => ledger.custody.run(id))),
    open: (await ledger.custody.openRuns()).map((run) => run.run_id),
    owing: await ledger.custody.owingTaskIds(),
    totals: await ledger.custody.totals(),
  };
}

/** What a reader who knows nothing yet makes of the root as it stands. */
export async function freshAnswers(root: ForeignRoot) {
  await using fresh = await openLedger(root.url, { readOnly: true });
  const path = root.at('state', 'custody.db');
  // Without the index that others left, this is a replay and nothing else.
  const aside = `${path}.aside`;
  renameSync(path, aside);
  try {
    await using replay = await openLedger(root.url, { readOnly: true });
    const answers = await answersOf(replay);
    expect(await answersOf(fresh)).toEqual(answers);
    return answers;
  } finally {
    renameSync(aside, path);
  }
}

/** Ids of the open runs, in the order of their starts. */
export async function openIds(ledger: Ledger): Promise<readonly string[]> {
  return (await ledger.custody.openRuns()).map((run) => run.run_id);
}
