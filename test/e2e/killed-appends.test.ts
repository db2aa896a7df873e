import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { openLedger } from '@custody/ledger';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { startAppending } from '../support/append-process.ts';
import { countKills } from '../support/figures.ts';
import { newSchema } from '../support/postgres.ts';

/** Each kill costs the start of a process; a busy machine must not fail the test. */
const TIMEOUT_MS = 400_000;

const PLACES = [
  ['sqlite', 50, (directory: string) => `sqlite:${join(directory, 'custody.db')}`],
  ['jsonl', 50, (directory: string) => `jsonl:${join(directory, 'root')}`],
  ['postgres', 20, () => newSchema()],
] as const;

describe.each(PLACES)('a process that is killed while it appends to %s', (name, KILLS, urlIn) => {
  let directory = '';
  let url = '';

  beforeEach(async () => {
    directory = mkdtempSync(join(tmpdir(), 'custody-kill-'));
    url = await urlIn(directory);
  });

  afterEach(() => {
    rmSync(directory, { recursive: true, force: true });
  });

  /** Runs a process until it has acknowledged some appends, kills it, and gives back what it acknowledged. */
  async function killAfter(count: number, name: string, width: number): Promise<ReadonlyMap<string, number>> {
    const process = startAppending(url, name, { events: 0, width });
    await process.ready;
    process.go();
    await process.reached(count);
    await process.kill();
    return process.acknowledged;
  }

  /** What the ledger holds, by id; now and then the whole of it is checked against a replay. */
  async function storedEvents(isChecked: boolean): Promise<ReadonlyMap<string, number>> {
    await using ledger = await openLedger(url);
    if (isChecked) expect(await ledger.verify({ rebuild: true })).toMatchObject({ ok: true, problems: [] });
    const stored = new Map<string, number>();
    for await (const { event } of ledger.read()) stored.set(event.id, event.seq);
    return stored;
  }

  it(
    `P1, P2: loses no acknowledged append, ${KILLS} times`,
    async () => {
      const acknowledged = new Map<string, number>();
      let killedMidway = 0;
      let lost = 0;

      for (let round = 0; round < KILLS; round += 1) {
        // Another moment each time: before the first commit, right after it, in the middle of many.
        const fresh = await killAfter((round * 7) % 40, `p${round}`, 1 + (round % 8));
        for (const [id, seq] of fresh) acknowledged.set(id, seq);

        const stored = await storedEvents(round % 5 === 4);
        const missing = [...acknowledged].filter(([id, seq]) => stored.get(id) !== seq);
        lost += missing.length;
        expect(missing).toEqual([]);
        const written = [...stored.keys()].filter((id) => id.startsWith(`p${round}-`)).length;
        if (written > fresh.size) killedMidway += 1;
      }

      countKills(`appends on ${name}`, KILLS, lost);
      expect(acknowledged.size).toBeGreaterThan(KILLS);
      // Some were killed between a commit and its acknowledgement, or else nothing was shown.
      expect(killedMidway).toBeGreaterThan(0);
    },
    TIMEOUT_MS,
  );
});
