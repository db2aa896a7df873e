import { writeFileSync } from 'node:fs';
import { expect, onTestFinished, test } from 'vitest';
import { cliBench } from '../support/cli.ts';
import { filledStore } from '../support/cli-store.ts';
import { takeLedger } from '../support/postgres.ts';

test('an export of a SQLite ledger, imported into PostgreSQL, has the same places, ids and hashes; and back again', async () => {
  const source = await filledStore();
  await source.json(['task', 'create', '--id', 'm-1', '--title', 'work']);
  await source.json(['run', 'claim', '--holder', 'worker']);
  const exported = (await source.run(['event', 'export'])).stdout;
  const file = source.path('export.jsonl');
  writeFileSync(file, exported);
  const place = await takeLedger();
  onTestFinished(place.giveBack);
  const bench = cliBench();
  const at = { env: { CUSTODY_STORE: place.url } };

  const imported = await bench.json(['event', 'import', file], at);
  expect(imported).toMatchObject({ code: 0, value: { appended: 7, duplicates: 0 } });
  expect((await bench.run(['event', 'export'], at)).stdout).toBe(exported);
  const clean = { code: 0, value: { ok: true, events: 7, problems: [] } };
  expect(await source.json(['verify', '--rebuild'])).toMatchObject(clean);
  expect(await bench.json(['verify', '--rebuild'], at)).toMatchObject(clean);
  expect(await bench.json(['event', 'import', file], at)).toMatchObject({
    value: { appended: 0, duplicates: 7 },
  });

  const back = cliBench();
  expect(await back.json(['event', 'import', file])).toMatchObject({ value: { appended: 7 } });
  expect((await back.run(['event', 'export'])).stdout).toBe(exported);
});
