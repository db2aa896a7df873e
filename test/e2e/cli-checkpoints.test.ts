import { mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { parseTaskRow, printTaskRow } from '@custody/ledger';
import { expect, test } from 'vitest';
import type { CliBench } from '../support/cli.ts';
import { shaped, toLines } from '../support/cli.ts';
import { CLI_SCHEMAS, ERROR_SCHEMA } from '../support/cli-schemas.ts';
import { filledStore } from '../support/cli-store.ts';
import { openRawSqlite } from '../support/raw-sqlite.ts';
import { signingKeys } from '../support/signing-keys.ts';

const KEYS = signingKeys();

async function signedStore(): Promise<CliBench> {
  const bench = await filledStore();
  writeFileSync(bench.path('key.pem'), KEYS.privateKey);
  writeFileSync(bench.path('public.pem'), KEYS.publicKey);
  const { code, value } = await bench.json([
    ...['ledger', 'checkpoint', '--key', 'key.pem', '--out', 'checkpoint.json', '--rows', 'rows.jsonl'],
  ]);
  expect(code).toBe(0);
  const checkpoint = shaped(CLI_SCHEMAS['ledger checkpoint'], value);
  expect(JSON.parse(readFileSync(bench.path('checkpoint.json'), 'utf8'))).toEqual(checkpoint);
  return bench;
}

const verify = (bench: CliBench, ...args: readonly string[]) =>
  bench.json([
    ...['verify', '--checkpoint', 'checkpoint.json', '--public-key', 'public.pem', '--rows', 'rows.jsonl'],
    ...args,
  ]);

test('a checkpoint is written beside the store, holds, and leaves nothing else behind', async () => {
  const bench = await signedStore();

  expect(await verify(bench)).toMatchObject({ code: 0, value: { ok: true, events: 6 } });
  expect(readdirSync(bench.dir).sort()).toEqual([
    ...['.custody', 'checkpoint.json', 'key.pem', 'public.pem', 'rows.jsonl'],
  ]);
  // Without --out it is what is printed, for a pipe.
  const { stdout } = await bench.run(['ledger', 'checkpoint', '--key', 'key.pem']);
  writeFileSync(bench.path('checkpoint.json'), stdout);
  expect(
    (await bench.run(['verify', '--checkpoint', 'checkpoint.json', '--public-key', 'public.pem'])).code,
  ).toBe(0);
});

test('P4: a frozen field that was changed inside the database file is named with its task', async () => {
  const bench = await signedStore();
  const db = openRawSqlite(bench.path('.custody/custody.db'));
  db.exec('drop trigger frozen_part_is_immutable');
  db.exec(`update task_row set frozen = replace(frozen, 'provider_unavailable', 'provider_unavailablE')`);
  db.close();

  const { code, value } = await verify(bench);

  expect(code).toBe(1);
  expect(value).toMatchObject({
    ok: false,
    problems: expect.arrayContaining([
      {
        code: 'frozen_field_changed',
        task_id: 't-1',
        message: 'reason_code changed since the checkpoint was signed',
      },
    ]),
  });
});

test('P4: a frozen field that was changed in a row file is named, and a row file that is gone', async () => {
  const bench = await signedStore();
  const store = 'jsonl:root';
  const at = ['-s', store];
  writeFileSync(bench.path('all.jsonl'), (await bench.run(['event', 'export'])).stdout);
  await bench.run([...at, 'event', 'import', 'all.jsonl']);
  const row1 = { task_id: 't-1', status: 'failed', delegated_runs_started: 2, result: 'half' };
  await bench.run([...at, 'task', 'put'], { stdin: toLines(row1) });
  await bench.run([
    ...at,
    'ledger',
    'checkpoint',
    '--key',
    'key.pem',
    '--out',
    'c.json',
    '--rows',
    'r.jsonl',
  ]);
  const look = () =>
    bench.json([
      ...[...at, 'verify', '--checkpoint', 'c.json', '--public-key', 'public.pem', '--rows', 'r.jsonl'],
    ]);
  expect(await look()).toMatchObject({ code: 0, value: { problems: [] } });
  const file = bench.path('root/task_results/t-1.json');
  const row = readFileSync(file, 'utf8');

  writeFileSync(file, row.replace('"delegated_runs_started": 2', '"delegated_runs_started": 3'));
  expect(printTaskRow(parseTaskRow(row))).not.toBe(printTaskRow(parseTaskRow(readFileSync(file, 'utf8'))));
  expect(await look()).toMatchObject({
    code: 1,
    value: {
      problems: [
        {
          code: 'frozen_field_changed',
          task_id: 't-1',
          message: expect.stringContaining('delegated_runs_started'),
        },
      ],
    },
  });

  rmSync(file);
  expect(await look()).toMatchObject({
    code: 1,
    value: { problems: [{ code: 'row_missing', task_id: 't-1' }] },
  });
});

test('P2: a store that was put back from an older backup is shorter than its checkpoint', async () => {
  const bench = await filledStore();
  writeFileSync(bench.path('key.pem'), KEYS.privateKey);
  writeFileSync(bench.path('public.pem'), KEYS.publicKey);
  writeFileSync(bench.path('old.db'), readFileSync(bench.path('.custody/custody.db')));
  await bench.run(['event', 'append'], { stdin: '{"type":"x.note","id":"n-1"}\n' });
  await bench.run(['ledger', 'checkpoint', '--key', 'key.pem', '--out', 'checkpoint.json']);

  const { code, value } = await bench.json([
    ...['-s', 'sqlite:old.db', 'verify', '--checkpoint', 'checkpoint.json', '--public-key', 'public.pem'],
  ]);

  expect(code).toBe(1);
  expect(value).toMatchObject({ problems: [{ code: 'truncated', seq: 5 }] });
});

test('P14: files that are none are wrong usage, and nothing is signed or written', async () => {
  const bench = await signedStore();
  writeFileSync(bench.path('none.pem'), 'no key');
  writeFileSync(bench.path('none.json'), '{"format":"custody-checkpoint-1"}');
  mkdirSync(bench.path('folder'));
  const events = (await bench.json(['verify'])).value;
  const cases: readonly [string, readonly string[]][] = [
    ['input_unreadable', ['ledger', 'checkpoint', '--key', 'missing.pem']],
    [
      'invalid_key',
      ['ledger', 'checkpoint', '--key', 'none.pem', '--out', 'new.json', '--rows', 'new.jsonl'],
    ],
    ['invalid_key', ['ledger', 'checkpoint', '--key', 'public.pem']],
    ['usage', ['ledger', 'checkpoint']],
    ['usage', ['verify', '--checkpoint', 'checkpoint.json']],
    ['usage', ['verify', '--public-key', 'public.pem', '--rows', 'rows.jsonl']],
    ['invalid_checkpoint', ['verify', '--public-key', 'public.pem', '--checkpoint', 'none.json']],
    ['invalid_checkpoint', ['verify', '--public-key', 'public.pem', '--checkpoint', 'key.pem']],
    ['invalid_key', ['verify', '--public-key', 'none.pem', '--checkpoint', 'checkpoint.json']],
    ['input_unreadable', ['verify', '--public-key', 'folder', '--checkpoint', 'checkpoint.json']],
  ];
  for (const [expected, args] of cases) {
    const { code, value } = await bench.json(args);
    expect({ args, code, error: shaped(ERROR_SCHEMA, value).error.code }).toEqual({
      args,
      code: 2,
      error: expected,
    });
  }
  const unwritable = await bench.json([
    ...['ledger', 'checkpoint', '--key', 'key.pem', '--out', 'no/such/folder/c.json'],
  ]);
  expect(unwritable).toMatchObject({ code: 3, value: { error: { code: 'output_failed' } } });
  expect((await bench.json(['verify'])).value).toEqual(events);
  expect(readdirSync(bench.dir).filter((name) => name.startsWith('new') || name.endsWith('.tmp'))).toEqual(
    [],
  );
});
