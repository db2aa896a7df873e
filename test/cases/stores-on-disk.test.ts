import { createHash } from 'node:crypto';
import {
  appendFileSync,
  chmodSync,
  cpSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  truncateSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { openLedger } from '@custody/ledger';
import { describe, expect, test } from 'vitest';
import type { CliBench } from '../support/cli.ts';
import { cliBench, shaped, toLines, withoutMoment } from '../support/cli.ts';
import { ERROR_SCHEMA } from '../support/cli-schemas.ts';
import { settled, started } from '../support/events.ts';
import { openRawSqlite } from '../support/raw-sqlite.ts';
import { failedRow, putRow } from '../support/terminal-rows.ts';

/** Every file under a folder, with a hash of its bytes. */
function hashesOf(folder: string): Readonly<Record<string, string>> {
  const names = readdirSync(folder, { recursive: true, encoding: 'utf8' }).sort();
  return Object.fromEntries(
    names
      .filter((name) => statSync(join(folder, name)).isFile())
      .map((name) => [
        name,
        createHash('sha256')
          .update(readFileSync(join(folder, name)))
          .digest('hex'),
      ]),
  );
}

async function errorOf(bench: CliBench, args: readonly string[], input = {}) {
  const { code, value } = await bench.json(args, input);
  return { exit: code, ...shaped(ERROR_SCHEMA, value).error };
}

const READS: readonly (readonly string[])[] = [['audit'], ['verify']];
const WRITES: readonly (readonly string[])[] = [['backfill'], ['clear', 't-1']];

/** A bench with a SQLite store of two events and a row, which is closed. */
async function filledStore(): Promise<CliBench> {
  const bench = cliBench();
  await using ledger = await openLedger(`sqlite:${bench.path('.custody/custody.db')}`);
  await ledger.append([started('r-1', 't-1'), settled('r-1')]);
  await putRow(ledger, failedRow('t-1', ['r-1']));
  return bench;
}

/** A bench with a JSONL root whose log has an archived segment and a live one, with two events in each. */
async function rotatedRoot(): Promise<CliBench> {
  const bench = cliBench();
  await using ledger = await openLedger(`jsonl:${bench.path('root')}?dialect=custody`);
  await ledger.append([started('r-1', 't-1'), settled('r-1')]);
  mkdirSync(bench.path('root/archive'), { recursive: true });
  renameSync(bench.path('root/logs/events.jsonl'), bench.path('root/archive/events_20260301T000000.jsonl'));
  await ledger.append([started('r-2', 't-2'), settled('r-2')]);
  return bench;
}

describe('B49: a check never makes what it should have found', () => {
  test.for([['audit'], ['backfill']])(
    'B49: %s on a deleted SQLite store: missing, and nothing is made',
    async (args) => {
      const bench = await filledStore();
      rmSync(bench.path('.custody'), { recursive: true });

      expect(await errorOf(bench, args)).toMatchObject({ exit: 3, code: 'store_missing' });
      expect(readdirSync(bench.dir)).toEqual([]);
    },
  );

  test.for([['verify'], ['backfill'], ['clear', 't-1']])(
    'B49: %s on a SQLite file that was cut to nothing: empty, and left so',
    async (args) => {
      const bench = await filledStore();
      truncateSync(bench.path('.custody/custody.db'), 0);

      const error = await errorOf(bench, args);

      expect(error).toMatchObject({ exit: 3, code: 'not_a_store' });
      expect(statSync(bench.path('.custody/custody.db')).size).toBe(0);
    },
  );

  test('B49: the index of a JSONL store may be deleted: it is no part of the proof', async () => {
    const bench = await rotatedRoot();
    for (const name of readdirSync(bench.path('root/state')).filter((file) => file.startsWith('custody.db')))
      rmSync(bench.path(`root/state/${name}`));

    expect(await bench.json(['-s', 'jsonl:root', 'verify', '--rebuild'])).toMatchObject({
      code: 0,
      value: { ok: true, events: 4 },
    });
  });

  test.each([
    ['the newest segment is deleted', 'logs/events.jsonl', 'truncated'],
    ['an archived segment is deleted', 'archive/events_20260301T000000.jsonl', 'head_not_in_chain'],
  ])('B49: %s: verify says so, exit 1', async (_what, file, code) => {
    const bench = await rotatedRoot();
    rmSync(bench.path(`root/${file}`));
    const before = hashesOf(bench.path('root'));

    const { code: exit, value } = await bench.json(['-s', 'jsonl:root', 'verify']);

    expect(exit).toBe(1);
    expect(value).toMatchObject({
      ok: false,
      problems: expect.arrayContaining([expect.objectContaining({ code })]) as unknown,
    });
    expect(hashesOf(bench.path('root'))).toEqual(before);
  });

  test('B49: a payload that is no JSON any more: verify names its place, exit 1, and changes nothing', async () => {
    const bench = await rotatedRoot();
    const log = bench.path('root/logs/events.jsonl');
    writeFileSync(log, readFileSync(log, 'utf8').replace('"state":"succeeded"', '"state":"succ'));
    const before = hashesOf(bench.path('root'));

    const { code, value } = await bench.json(['-s', 'jsonl:root', 'verify']);

    expect(code).toBe(1);
    expect(value).toMatchObject({
      ok: false,
      notes: [{ code: 'torn_line', file: 'logs/events.jsonl', line: 2 }],
    });
    expect(hashesOf(bench.path('root'))).toEqual(before);
  });

  test('B49: a part of the log that can not be read is neither absent nor empty', async () => {
    const bench = await rotatedRoot();
    rmSync(bench.path('root/logs/events.jsonl'));
    mkdirSync(bench.path('root/logs/events.jsonl'));

    expect((await bench.json(['-s', 'jsonl:root', 'verify'])).value).toMatchObject({
      ok: false,
      problems: [{ code: 'log_unreadable' }],
    });
    expect((await bench.json(['-s', 'jsonl:root', 'audit', 't-1'])).value).toMatchObject({
      tasks: [
        {
          audit: {
            audit_status: 'failed',
            unreconciled: ['delegated_run_state_unknown:custody_log_unreadable'],
          },
        },
      ],
    });
  });
});

describe('B49: an empty folder is no store', () => {
  test.for([['audit'], ['verify'], ['backfill'], ['event', 'list']])(
    'B49: %s where the disk of a JSONL store is not mounted: missing, never "nothing is owed"',
    async (args) => {
      const bench = cliBench();
      mkdirSync(bench.path('root'));

      expect(await errorOf(bench, ['-s', 'jsonl:root', ...args])).toMatchObject({
        exit: 3,
        code: 'store_missing',
      });
      expect(readdirSync(bench.path('root'))).toEqual([]);
    },
  );

  test('B45: init where nothing may be written says so', async () => {
    const bench = cliBench();
    chmodSync(bench.dir, 0o755);
    mkdirSync(bench.path('root'));
    chmodSync(bench.path('root'), 0o555);

    const error = await errorOf(bench, ['-s', 'jsonl:root', 'init'], { isNobody: true });

    expect(error).toMatchObject({ exit: 3, code: 'store_unreadable', path: 'root' });
  });
});

describe('B105: a check reads where nothing may be written', () => {
  /** A copy of a store in a folder that nobody may write to. */
  function readOnlyCopy(bench: CliBench, from: string): void {
    cpSync(bench.path(from), bench.path('copy'), { recursive: true });
    chmodSync(bench.dir, 0o755);
    for (const name of readdirSync(bench.path('copy'), { recursive: true, encoding: 'utf8' })) {
      const path = bench.path(`copy/${name}`);
      chmodSync(path, statSync(path).isDirectory() ? 0o555 : 0o444);
    }
    chmodSync(bench.path('copy'), 0o555);
  }

  test.for(READS)('B105: %s on a sound SQLite store: done, and every byte as it was', async (args) => {
    const bench = await filledStore();
    readOnlyCopy(bench, '.custody');
    const before = hashesOf(bench.path('copy'));

    const inPlace = await bench.run(['--json', ...args]);
    const copied = await bench.run(['--json', '-s', 'sqlite:copy/custody.db', ...args], { isNobody: true });

    expect({ code: copied.code, stderr: copied.stderr }).toEqual({ code: 0, stderr: '' });
    expect(withoutMoment(copied.stdout)).toBe(withoutMoment(inPlace.stdout));
    expect(hashesOf(bench.path('copy'))).toEqual(before);
  });

  test('B105: the rows of a writer that was killed stand in the write-ahead log, and are seen', async () => {
    const bench = await filledStore();
    const database = openRawSqlite(bench.path('.custody/custody.db'));
    // Whoever closes the file last folds the log in; this one has looked at it, and stays.
    database.prepare('select count(*) from event').get();
    expect((await bench.run(['event', 'append'], { stdin: toLines(started('run-9', 't-9')) })).code).toBe(0);
    expect(statSync(bench.path('.custody/custody.db-wal')).size).toBeGreaterThan(0);
    // As a power cut leaves it: no process, and a log that was not folded in.
    cpSync(bench.path('.custody'), bench.path('crashed'), { recursive: true });
    rmSync(bench.path('crashed/custody.db-shm'));
    database.close();
    readOnlyCopy(bench, 'crashed');

    const { code, stdout } = await bench.run(['--json', '-s', 'sqlite:copy/custody.db', 'event', 'list'], {
      isNobody: true,
    });

    expect(code).toBe(0);
    expect(stdout).toContain('"run-9"');
    expect(existsSync(bench.path('copy/custody.db-shm'))).toBe(false);
  });

  test('B105: a segment of a JSONL store that the reader may not read: unknown, never "nothing is owed"', async () => {
    const bench = await rotatedRoot();
    readOnlyCopy(bench, 'root');
    const [segment = ''] = readdirSync(bench.path('copy/archive'));
    chmodSync(bench.path(`copy/archive/${segment}`), 0o440);

    const audit = await bench.run(['--json', '-s', 'jsonl:copy', 'audit'], { isNobody: true });
    const verify = await bench.run(['--json', '-s', 'jsonl:copy', 'verify'], { isNobody: true });

    expect(JSON.parse(audit.stdout)).toMatchObject({ seq: null });
    expect(verify.code).toBe(1);
    expect(JSON.parse(verify.stdout)).toMatchObject({ ok: false, problems: [{ code: 'log_unreadable' }] });
  });

  test.for(READS)('B105: %s on a sound JSONL store: done, and every byte as it was', async (args) => {
    const bench = await rotatedRoot();
    readOnlyCopy(bench, 'root');
    const before = hashesOf(bench.path('copy'));

    const { code, stderr } = await bench.run(['--json', '-s', 'jsonl:copy', ...args], { isNobody: true });

    expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
    expect(hashesOf(bench.path('copy'))).toEqual(before);
  });
});

describe('B45: a store that belongs to somebody else', () => {
  const EVENT = toLines(started('r-9', 't-9'));

  test('B45: a SQLite file that may be read only refuses every write, names itself, and stays as it is', async () => {
    const bench = await filledStore();
    chmodSync(bench.dir, 0o755);
    const before = readFileSync(bench.path('.custody/custody.db'));
    chmodSync(bench.path('.custody/custody.db'), 0o444);

    for (const args of [['event', 'append'], ...WRITES]) {
      const error = await errorOf(bench, args, { stdin: EVENT, isNobody: true });
      expect(error).toMatchObject({ exit: 3, code: 'store_unreadable' });
      expect(error.message).toContain('.custody/custody.db');
    }
    expect(readFileSync(bench.path('.custody/custody.db')).equals(before)).toBe(true);
  });

  test('B45: a log that may be read only refuses the append with its path, and the audit goes on', async () => {
    const bench = await rotatedRoot();
    chmodSync(bench.dir, 0o755);
    for (const folder of ['root', 'root/logs', 'root/archive', 'root/state'])
      chmodSync(bench.path(folder), 0o777);
    for (const name of readdirSync(bench.path('root/state')))
      chmodSync(bench.path(`root/state/${name}`), 0o666);
    chmodSync(bench.path('root/logs/events.jsonl'), 0o444);
    const before = readFileSync(bench.path('root/logs/events.jsonl'));

    const error = await errorOf(bench, ['-s', 'jsonl:root', 'event', 'append'], {
      stdin: EVENT,
      isNobody: true,
    });

    expect(error).toMatchObject({ exit: 3, path: 'root/logs/events.jsonl' });
    expect(error.message).toMatch(/EACCES/);
    expect(readFileSync(bench.path('root/logs/events.jsonl')).equals(before)).toBe(true);
    expect((await bench.run(['-s', 'jsonl:root', 'audit'], { isNobody: true })).code).toBe(0);
  });

  test('B45: a full log that its archive can’t take refuses the append with the path of the archive', async () => {
    const bench = await rotatedRoot();
    chmodSync(bench.dir, 0o755);
    for (const folder of ['root', 'root/logs', 'root/state']) chmodSync(bench.path(folder), 0o777);
    for (const name of readdirSync(bench.path('root/state')))
      chmodSync(bench.path(`root/state/${name}`), 0o666);
    chmodSync(bench.path('root/logs/events.jsonl'), 0o666);
    appendFileSync(bench.path('root/logs/events.jsonl'), `{"type":"chat","text":"${'x'.repeat(900_000)}"}\n`);
    chmodSync(bench.path('root/archive'), 0o555);
    const before = readFileSync(bench.path('root/logs/events.jsonl'));

    const error = await errorOf(bench, ['-s', 'jsonl:root', 'event', 'append'], {
      stdin: EVENT,
      isNobody: true,
    });

    expect(error).toMatchObject({ exit: 3, code: 'log_unreadable', path: 'root/archive' });
    expect(readFileSync(bench.path('root/logs/events.jsonl')).equals(before)).toBe(true);
  });

  test('B45: a row that can’t be written is refused with its path', async () => {
    const bench = await rotatedRoot();
    chmodSync(bench.dir, 0o755);
    mkdirSync(bench.path('root/task_results'), { recursive: true });
    for (const folder of ['root', 'root/logs', 'root/state']) chmodSync(bench.path(folder), 0o777);
    for (const name of readdirSync(bench.path('root/state')))
      chmodSync(bench.path(`root/state/${name}`), 0o666);
    chmodSync(bench.path('root/task_results'), 0o555);
    const stdin = toLines({ task_id: 't-9', status: 'failed' });

    const error = await errorOf(bench, ['-s', 'jsonl:root', 'task', 'put'], { stdin, isNobody: true });

    expect(error).toMatchObject({ exit: 3, code: 'store_unreadable', path: 'root/task_results/t-9.json' });
  });

  test('B45: a log that may not even be read fails closed: exit 3, never "nothing is owed"', async () => {
    const bench = await rotatedRoot();
    chmodSync(bench.dir, 0o755);
    for (const folder of ['root', 'root/logs', 'root/archive', 'root/state'])
      chmodSync(bench.path(folder), 0o777);
    for (const name of readdirSync(bench.path('root/state')))
      chmodSync(bench.path(`root/state/${name}`), 0o666);
    chmodSync(bench.path('root/archive/events_20260301T000000.jsonl'), 0o000);

    const audit = await bench.json(['-s', 'jsonl:root', 'audit', 't-1'], { isNobody: true });

    expect(audit.value).toMatchObject({ tasks: [{ audit: { audit_status: 'failed' } }] });
    expect(
      await errorOf(bench, ['-s', 'jsonl:root', 'event', 'append'], { stdin: EVENT, isNobody: true }),
    ).toMatchObject({
      exit: 3,
      code: 'log_unreadable',
    });
  });
});
