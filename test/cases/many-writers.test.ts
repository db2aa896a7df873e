import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { openLedger } from '@custody/ledger';
import { createReconciler } from '@custody/reconciler';
import { describe, expect, test } from 'vitest';
import { startAppending } from '../support/append-process.ts';
import { cliBench, toLines } from '../support/cli.ts';
import { settled, started } from '../support/events.ts';
import { jsonlRoot, line } from '../support/jsonl-root.ts';
import { eventsOf } from '../support/log.ts';
import { failedRow, listOf, putRow } from '../support/terminal-rows.ts';

/** Sizes of events in bytes, as they come mixed. */
const SIZES = [200, 900_000, 5000, 200, 200_000, 200, 5000, 200_000, 200, 200];

const eventsFor = (name: string) =>
  SIZES.map((size, index) => ({
    id: `${name}-${index}`,
    ...started(`${name}-${index}`, 't-1'),
    note: 'x'.repeat(size),
  }));

describe('B22: many processes, one log', () => {
  test.each(['sqlite:store/custody.db', 'jsonl:store'])(
    'B22: events of all sizes from four processes, one of them killed, stand whole and once in %s',
    async (url) => {
      const bench = cliBench();
      const [kind = '', place = ''] = url.split(':');
      const here = `${kind}:${bench.path(place)}`;
      await using ledger = await openLedger(here);
      const victim = startAppending(here, 'victim', { events: 0, width: 4 });
      await victim.ready;
      victim.go();
      const writers = ['a', 'b', 'c'].map((name) =>
        bench.run(['-s', url, 'event', 'append'], { stdin: toLines(...eventsFor(name)) }),
      );
      await victim.reached(25);
      await victim.kill();
      // A reader that looks in between never sees a half of an event.
      const seen = (await eventsOf(ledger)).map(({ seq }) => seq);
      expect(seen).toEqual(seen.map((_, index) => index + 1));

      expect((await Promise.all(writers)).map(({ code, stderr }) => ({ code, stderr }))).toEqual(
        writers.map(() => ({ code: 0, stderr: '' })),
      );

      const ids = new Map((await eventsOf(ledger)).map(({ id, seq }) => [id, seq]));
      for (const name of ['a', 'b', 'c'])
        for (const { id } of eventsFor(name)) expect(ids.has(id)).toBe(true);
      for (const [id, seq] of victim.acknowledged) expect([id, ids.get(id)]).toEqual([id, seq]);
      expect(await ledger.verify({ rebuild: true })).toMatchObject({
        ok: true,
        events: ids.size,
        problems: [],
      });
      if (kind === 'jsonl') expectWholeLines(bench.path(place));
    },
  );
});

/** Every line of the log is JSON, but for at most the one that a killed process was at. */
function expectWholeLines(root: string): void {
  const folders = ['archive', 'logs'].flatMap((folder) =>
    readdirSync(join(root, folder)).map((name) => join(root, folder, name)),
  );
  const lines = folders
    .filter((path) => path.endsWith('.jsonl'))
    .flatMap((path) => readFileSync(path, 'utf8').split('\n'))
    .filter((text) => text !== '');
  const broken = lines.filter((text) => !(text.startsWith('{') && text.endsWith('}')));
  expect(broken.length).toBeLessThanOrEqual(1);
}

test('B27: of a long history only the first look reads all; looks, sweeps and appends after it read what is new', async () => {
  const root = jsonlRoot();
  const noise = line({ type: 'chat', text: 'x'.repeat(400) });
  for (let segment = 0; segment < 20; segment += 1) {
    const runs = Array.from({ length: 300 }, (_, index) => `r-${segment}-${index}`);
    const text = runs.map(
      (run) =>
        `${line(started(run, `t-${run}`))}${noise}${line({ ...settled(run), task_id: `t-${run}` })}${noise}`,
    );
    writeFileSync(
      join(root.archive, `events_20260301T0000${String(segment).padStart(2, '0')}.jsonl`),
      text.join(''),
    );
  }
  root.write(line(started('r-open', 't-open')));
  let replays = 0;
  const onReplay = () => {
    replays += 1;
  };
  const first = await root.open({ onReplay });
  expect(await first.custody.totals()).toMatchObject({ runs: 6001, open_runs: 1 });
  await createReconciler(first).backfill();
  expect(replays).toBe(1);

  const second = await root.open({ onReplay });
  const reconciler = createReconciler(second);
  await reconciler.backfill();
  for (let look = 0; look < 20; look += 1) {
    await second.append([started(`r-new-${look}`, 't-open')]);
    await reconciler.audit(['t-open']);
    await reconciler.stats();
  }

  expect(replays).toBe(1);
  expect(await second.custody.totals()).toMatchObject({ runs: 6021, open_runs: 21 });
});

describe('B51: a damaged database beside a whole log', () => {
  test('B51: the index of a JSONL store is thrown away and made anew from the log', async () => {
    const root = jsonlRoot();
    const before = await root.open();
    await before.append([started('r-1', 't-1'), settled('r-1')]);
    await putRow(before, failedRow('t-1', ['r-1']));
    const head = await before.head();
    await before.close();
    const index = join(root.path, 'state', 'custody.db');
    const bytes = readFileSync(index);
    // Not the header, so that it looks like a database.
    writeFileSync(index, bytes.fill(0xa5, 4096));

    const ledger = await root.open();

    expect(await createReconciler(ledger).backfill()).toMatchObject({ refreshed: ['t-1'], failed: [] });
    expect(await listOf(ledger, 't-1')).toEqual([]);
    expect((await eventsOf(ledger)).slice(0, 2)).toMatchObject([
      { seq: 1, run_id: 'r-1' },
      { seq: head.seq, hash: head.hash },
    ]);
    expect(await ledger.verify({ rebuild: true })).toMatchObject({ ok: true, problems: [] });
  });

  test('B51: what is no row of ours is named and left, and stops nobody', async () => {
    const root = jsonlRoot();
    const rows = join(root.path, 'task_results');
    mkdirSync(rows);
    const files = {
      't-cut.json': '{"task_id":"t-cut","status":"fai',
      't-nul.json': '\u0000\u0000\u0000',
      't-new.json': '{"_schema_version":2,"status":"failed"}',
    };
    for (const [name, text] of Object.entries(files)) writeFileSync(join(rows, name), text);
    const ledger = await root.open();
    await ledger.append([started('r-1', 't-1'), settled('r-1')]);
    await putRow(ledger, failedRow('t-1', ['r-1']));

    const report = await createReconciler(ledger).backfill();

    expect(report).toMatchObject({ refreshed: ['t-1'] });
    const notes = (await ledger.verify()).notes.filter(({ code }) => code === 'unreadable_row');
    expect(notes.map(({ task_id }) => task_id)).toEqual(['t-cut', 't-new', 't-nul']);
    for (const [name, text] of Object.entries(files))
      expect(readFileSync(join(rows, name), 'utf8')).toBe(text);
  });
});
