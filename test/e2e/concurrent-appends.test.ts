import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { openLedger } from '@custody/ledger';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { startAppending } from '../support/append-process.ts';
import { newSchema } from '../support/postgres.ts';

const PLACES = [
  ['sqlite', (directory: string) => `sqlite:${join(directory, 'custody.db')}`],
  ['jsonl', (directory: string) => `jsonl:${join(directory, 'root')}`],
  ['jsonl (ouroboros)', (directory: string) => `jsonl:${join(directory, 'root')}?dialect=ouroboros`],
  ['postgres', () => newSchema()],
] as const;

describe.each(PLACES)('processes that append to one %s ledger', (_name, urlIn) => {
  let directory = '';

  beforeEach(() => {
    directory = mkdtempSync(join(tmpdir(), 'custody-race-'));
  });

  afterEach(() => {
    rmSync(directory, { recursive: true, force: true });
  });

  it('two write 10,000 events each: no gap, no fork, nothing lost', async () => {
    const url = await urlIn(directory);
    await (await openLedger(url)).close();
    const processes = ['a', 'b'].map((name) => startAppending(url, name, { events: 10_000, width: 64 }));
    await Promise.all(processes.map((process) => process.ready));

    for (const process of processes) process.go();
    await Promise.all(processes.map((process) => process.ended));

    await using ledger = await openLedger(url);
    const seqs = new Map<string, number>();
    let expected = 0;
    for await (const { event } of ledger.read()) {
      expected += 1;
      expect(event.seq).toBe(expected);
      seqs.set(event.id, event.seq);
    }
    expect(seqs.size).toBe(20_000);
    for (const process of processes) {
      expect(process.acknowledged.size).toBe(10_000);
      for (const [id, seq] of process.acknowledged)
        if (seqs.get(id) !== seq) expect([id, seqs.get(id)]).toEqual([id, seq]);
    }
    // They really ran side by side: neither wrote all of its events in one go.
    expect(turnsOf([...seqs.keys()])).toBeGreaterThan(10);
    expect(await ledger.verify({ rebuild: true })).toMatchObject({ ok: true, events: 20_000, problems: [] });
    expect(await ledger.custody.totals()).toMatchObject({
      runs: 10_000,
      open_runs: 0,
      undisposed_patches: 10_000,
    });
  });

  it('four make the ledger at the same time: it is made once', async () => {
    const url = await urlIn(directory);
    const processes = ['a', 'b', 'c', 'd'].map((name) => startAppending(url, name, { events: 20, width: 4 }));

    await Promise.all(processes.map((process) => process.ready));
    for (const process of processes) process.go();
    await Promise.all(processes.map((process) => process.ended));

    await using ledger = await openLedger(url);
    expect(ledger.created).toBe(false);
    expect(await ledger.verify({ rebuild: true })).toMatchObject({ ok: true, events: 80 });
  });
});

/** How often the writer changed from one event to the next. */
function turnsOf(ids: readonly string[]): number {
  return ids.filter((id, index) => index > 0 && id[0] !== ids[index - 1]?.[0]).length;
}
