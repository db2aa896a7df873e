import { mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { openLedger } from '@custody/ledger';
import { createReconciler } from '@custody/reconciler';
import { describe, expect, test } from 'vitest';
import { DURABLE_STORES } from '../contract/stores.ts';
import { startAppending } from '../support/append-process.ts';
import { cliBench, finished, toLines } from '../support/cli.ts';
import { settled, started } from '../support/events.ts';
import { jsonlRoot, line } from '../support/jsonl-root.ts';
import { eventsOf } from '../support/log.ts';
import { openRawSqlite } from '../support/raw-sqlite.ts';
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

describe('B29: many processes open one store at the same time', () => {
  const nine = Array.from({ length: 9 }, (_, index) => index);

  test.each(['sqlite:store/custody.db', 'jsonl:store'])(
    'B29: nine make %s at once: it is made once, and nobody fails',
    async (url) => {
      const bench = cliBench();

      const results = await Promise.all(
        nine.map((index) =>
          bench.run(['-s', url, 'event', 'append'], { stdin: toLines(started(`r-${index}`, 't-1')) }),
        ),
      );

      expect(results.map(({ code, stderr }) => ({ code, stderr }))).toEqual(
        nine.map(() => ({ code: 0, stderr: '' })),
      );
      expect((await bench.json(['-s', url, 'verify', '--rebuild'])).value).toMatchObject({
        ok: true,
        events: 9,
      });
    },
  );

  test('B29: a write transaction of another program is waited for', async () => {
    const bench = cliBench();
    await (await openLedger(`sqlite:${bench.path('.custody/custody.db')}`)).close();
    const database = openRawSqlite(bench.path('.custody/custody.db'));
    database.exec('begin immediate');
    const waiting = bench.start(['event', 'append']);
    waiting.stdin.end(toLines(started('r-9', 't-9')));
    const audits = await Promise.all([bench.run(['audit']), bench.run(['event', 'list'])]);
    // Readers did not wait for it.
    expect(audits.map(({ code }) => code)).toEqual([0, 0]);
    expect(waiting.exitCode).toBeNull();
    const end = finished(waiting);

    database.exec('commit');
    database.close();

    expect(await end).toMatchObject({ code: 0 });
  });
});

test('B28: a reader that never finishes does not keep the write-ahead log growing', async () => {
  const bench = cliBench();
  await using ledger = await openLedger(`sqlite:${bench.path('custody.db')}`);
  const runs = (from: number, count: number) =>
    Array.from({ length: count }, (_, index) => started(`r-${from + index}`, 't-1'));
  await ledger.append(runs(0, 2000));
  const reader = ledger.read()[Symbol.asyncIterator]();
  await reader.next();

  for (let batch = 1; batch <= 60; batch += 1) await ledger.append(runs(batch * 2000, 250));

  // SQLite folds the log in at 4 MiB; a snapshot that was held would have kept all of it, over 20 MiB.
  expect(statSync(bench.path('custody.db-wal')).size).toBeLessThan(12 * 1_048_576);
  await reader.return?.();
});

describe.each(DURABLE_STORES)('B102: one transaction is never inside of another, on $name', ({ open }) => {
  test('B102: appends, refusals, rows and documents that are written at once each happen whole or not at all', async () => {
    const { ledger, reopen } = await open();
    const work = Array.from({ length: 40 }, (_, index) => [
      ledger.append([started(`r-${index}`, `t-${index % 5}`), settled(`r-${index}`)]),
      ledger.append([started(`bad-${index}`, 't-1'), settled('nobody')]),
      ledger.state.save('document', { index }),
      ledger.leaders.tryLead('sweep', `holder-${index}`, 60_000),
    ]).flat();

    const answers = await Promise.allSettled<unknown>(work);

    expect(answers.filter((answer) => answer.status === 'rejected')).toHaveLength(40);
    const again = await reopen();
    expect(await again.verify({ rebuild: true })).toMatchObject({ ok: true, events: 80, problems: [] });
    expect(await again.custody.totals()).toMatchObject({ runs: 40, open_runs: 0 });
    expect(await again.state.load('document')).toEqual({ index: 39 });
  });
});
