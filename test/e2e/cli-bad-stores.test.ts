import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import type { CliBench } from '../support/cli.ts';
import { cliBench, shaped, toLines } from '../support/cli.ts';
import { ERROR_SCHEMA } from '../support/cli-schemas.ts';
import { filledStore } from '../support/cli-store.ts';

/** Commands that must find a store: none of them makes, migrates or repairs one. */
const NEED_A_STORE: readonly (readonly string[])[] = [
  ['audit'],
  ['audit', '--all'],
  ['backfill'],
  ['backfill', '--dry-run'],
  ['sweep'],
  ['clear', 't-1'],
  ['reconcile', '--once'],
  ['inspect', 'task', 't-1'],
  ['inspect', 'run', 'r'],
  ['explain', 't-1'],
  ['handoff', 't-1'],
  ['stats'],
  ['verify'],
  ['verify', '--rebuild'],
  ['event', 'list'],
  ['event', 'export'],
  ['event', 'follow'],
  ['task', 'get', 't-1'],
  ['task', 'list'],
  ['task', 'list', '--stale'],
  ['task', 'unblock', 't-1'],
  ['run', 'claim', '--holder', 'alice'],
  ['run', 'list', '--task', 't-1'],
  ['journal', 'recover', 'journals'],
];

const CREATE_A_STORE: readonly (readonly string[])[] = [
  ['init'],
  ['event', 'append'],
  ['task', 'put'],
  ['task', 'create', '--title', 'T'],
];
const INPUT = '{"type":"x.note","task_id":"t-1","status":"failed"}\n';

/** Places in the header of a SQLite file (https://www.sqlite.org/fileformat.html). */
const USER_VERSION = 60;
const APPLICATION_ID = 68;

test.for(NEED_A_STORE)(
  '%s on a missing store: exit 3, a hint to custody init, and nothing is made',
  async (args) => {
    const bench = cliBench();

    const { code, value } = await bench.json(args);

    expect(code).toBe(3);
    const { error } = shaped(ERROR_SCHEMA, value);
    expect(error.code).toBe('store_missing');
    expect(error.hint).toContain('custody init');
    expect(readdirSync(bench.dir)).toEqual([]);
  },
);

test.for(CREATE_A_STORE)('%s makes a missing store, with its folders', async (args) => {
  const bench = cliBench();

  const { code } = await bench.run(['-s', 'sqlite:deep/er/ledger.db', ...args], { stdin: INPUT });

  expect(code).toBe(0);
  expect(existsSync(bench.path('deep/er/ledger.db'))).toBe(true);
});

/** Every command on a store that can't be used: the same answer, and not a byte changed. */
async function expectRefused(
  bench: CliBench,
  file: string,
  expected: { readonly code: string; readonly says: RegExp },
): Promise<void> {
  const before = readFileSync(bench.path(file));
  const files = readdirSync(bench.dir);
  for (const args of [...NEED_A_STORE.slice(0, 4), ['verify'], ['task', 'list'], ...CREATE_A_STORE]) {
    const { code, value } = await bench.json(['-s', `sqlite:${file}`, ...args], { stdin: INPUT });
    const { error } = shaped(ERROR_SCHEMA, value);
    expect({ args, exit: code, code: error.code }).toEqual({ args, exit: 3, code: expected.code });
    expect(error.message).toMatch(expected.says);
    expect(error.message).toContain(file);
  }
  expect(readFileSync(bench.path(file)).equals(before)).toBe(true);
  expect(readdirSync(bench.dir)).toEqual(files);
}

test('a file that is no database is refused and left alone', async () => {
  const bench = cliBench();
  writeFileSync(bench.path('notes.txt'), 'these are my notes, and I would like to keep them\n'.repeat(100));

  await expectRefused(bench, 'notes.txt', { code: 'not_a_store', says: /no SQLite database/ });
});

test("another program's database is refused and left alone", async () => {
  const bench = await filledStore();
  const bytes = readFileSync(bench.path('.custody/custody.db'));
  bytes.writeUInt32BE(0x12345678, APPLICATION_ID);
  writeFileSync(bench.path('other.db'), bytes);

  await expectRefused(bench, 'other.db', { code: 'not_a_store', says: /another program/ });
});

test('a database of a newer schema is refused and left alone', async () => {
  const bench = await filledStore();
  const bytes = readFileSync(bench.path('.custody/custody.db'));
  bytes.writeUInt32BE(99, USER_VERSION);
  writeFileSync(bench.path('newer.db'), bytes);

  await expectRefused(bench, 'newer.db', { code: 'schema_newer', says: /schema 99/ });
});

test('a directory where the file belongs is refused', async () => {
  const bench = cliBench();
  mkdirSync(bench.path('ledger.db'));

  for (const args of [['audit'], ...CREATE_A_STORE]) {
    const { code, value } = await bench.json(['-s', 'sqlite:ledger.db', ...args], { stdin: INPUT });
    expect({ exit: code, ...shaped(ERROR_SCHEMA, value).error }).toMatchObject({
      exit: 3,
      code: 'not_a_store',
      path: 'ledger.db',
    });
  }
  expect(readdirSync(bench.path('ledger.db'))).toEqual([]);
});

test('a file where a folder belongs is refused', async () => {
  const bench = cliBench();
  writeFileSync(bench.path('folder'), '');

  const { code, value } = await bench.json(['-s', 'sqlite:folder/ledger.db', 'init']);

  expect({ exit: code, ...shaped(ERROR_SCHEMA, value).error }).toMatchObject({
    exit: 3,
    code: 'store_unreadable',
  });
});

test('a damaged database is reported, never repaired', async () => {
  const bench = await filledStore();
  const bytes = readFileSync(bench.path('.custody/custody.db'));
  bytes.fill(0xa5, 4096);
  writeFileSync(bench.path('damaged.db'), bytes);

  const { code, value } = await bench.json(['-s', 'sqlite:damaged.db', 'verify']);

  expect({ exit: code, ...shaped(ERROR_SCHEMA, value).error }).toMatchObject({
    exit: 3,
    code: 'store_corrupt',
  });
  expect(readFileSync(bench.path('damaged.db')).equals(bytes)).toBe(true);
});

test('verify finds an edited event, and says where', async () => {
  const bench = await filledStore();
  const bytes = readFileSync(bench.path('.custody/custody.db'));
  const place = bytes.indexOf('kept, never folded');
  expect(place).toBeGreaterThan(0);
  bytes.write('KEPT', place);
  writeFileSync(bench.path('edited.db'), bytes);

  const { code, value } = await bench.json(['-s', 'sqlite:edited.db', 'verify']);

  expect(code).toBe(1);
  expect(value).toMatchObject({ ok: false, problems: [{ code: 'hash_mismatch', seq: 5 }] });
  const text = await bench.run(['-s', 'sqlite:edited.db', 'verify']);
  expect(text.code).toBe(1);
  expect(text.stdout).toContain('hash_mismatch (seq 5)');
});

test('verify and the other looks leave every byte of the store as it was', async () => {
  const bench = await filledStore();
  const before = readFileSync(bench.path('.custody/custody.db'));

  for (const args of [
    ['verify', '--rebuild'],
    ['audit', '--all'],
    ['backfill', '--dry-run'],
    ['task', 'list', '--stale'],
    ['explain', 't-1'],
  ]) {
    expect((await bench.run(args)).code).toBe(0);
  }

  expect(readFileSync(bench.path('.custody/custody.db')).equals(before)).toBe(true);
});

test('a store that another process writes to is waited for, and read meanwhile', async () => {
  const bench = await filledStore();
  const writers = Array.from({ length: 4 }, (_, writer) =>
    bench.json(['event', 'append'], {
      stdin: toLines(
        ...Array.from({ length: 50 }, (_event, index) => ({ type: 'x.note', id: `w-${writer}-${index}` })),
      ),
    }),
  );

  const read = await bench.json(['verify']);
  const results = await Promise.all(writers);

  expect(read.code).toBe(0);
  expect(results.map((result) => result.code)).toEqual([0, 0, 0, 0]);
  expect(await bench.json(['verify', '--rebuild'])).toMatchObject({ code: 0, value: { events: 205 } });
});
