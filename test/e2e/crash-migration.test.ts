import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { copyFileSync, existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { gunzipSync } from 'node:zlib';
import { openLedger } from '@custody/ledger';
import Database from 'better-sqlite3';
import { expect, onTestFinished, test } from 'vitest';
import { snapshotOf } from '../contract/snapshot.ts';
import { CLI_BIN } from '../support/cli.ts';
import { countFigures } from '../support/figures.ts';

const FIRST_SCHEMA = gunzipSync(readFileSync(new URL('../fixtures/sqlite-schema-1.db.gz', import.meta.url)));

/** Notes of other programs, in number: with them the migration lasts long enough to be hit. */
const MANY = 60_000;

/** The version of the file as whoever opens it next finds it; asked of a copy, since to open it is to recover it. */
function versionOf(path: string): number {
  const copy = `${path}.copy`;
  for (const end of ['', '-journal', '-wal']) {
    rmSync(`${copy}${end}`, { force: true });
    if (existsSync(`${path}${end}`)) copyFileSync(`${path}${end}`, `${copy}${end}`);
  }
  const database = new Database(copy);
  try {
    return Number(database.pragma('user_version', { simple: true }));
  } finally {
    database.close();
  }
}

/** Grows the file as its first writer would have: more rows in a table that the migration copies. */
function grow(path: string): void {
  const database = new Database(path);
  const insert = database.prepare(
    `insert into run_evidence (ledger, task_id, run_id, record) values ('main', ?, ?, '{"task_id":"x"}')`,
  );
  database.transaction(() => {
    for (let index = 0; index < MANY; index += 1) insert.run(`old-${index}`, `run-${index}`);
  })();
  database.close();
}

test('P1: killed at any instant while a file of the first schema is brought along, it is the old one or the new one, whole', async () => {
  const directory = mkdtempSync(join(tmpdir(), 'custody-crash-migration-'));
  onTestFinished(() => rmSync(directory, { recursive: true, force: true }));
  const origin = join(directory, 'origin.db');
  writeFileSync(origin, FIRST_SCHEMA);
  grow(origin);
  const bytes = readFileSync(origin);
  const found = new Map<number, number>();
  let kills = 0;
  for (let round = 0; round < 12; round += 1) {
    const path = join(directory, `custody-${round}.db`);
    writeFileSync(path, bytes);
    const child = spawn(process.execPath, [CLI_BIN, '-s', `sqlite:${path}`, 'init'], { stdio: 'ignore' });
    const ended = once(child, 'close');
    // The instant is what is tried.
    setTimeout(() => child.kill('SIGKILL'), 150 + round * 30);
    const [, signal] = (await ended) as [number | null, NodeJS.Signals | null];
    if (signal === 'SIGKILL') kills += 1;
    const version = versionOf(path);
    found.set(version, (found.get(version) ?? 0) + 1);

    await using ledger = await openLedger(`sqlite:${path}`);
    expect(await ledger.verify()).toMatchObject({ ok: true, events: 14, problems: [] });
    const database = new Database(path, { readonly: true });
    const copied = database
      .prepare(`select count(*) as count from run_evidence where task_id like 'old-%'`)
      .get();
    database.close();
    expect(copied).toEqual({ count: MANY });
    rmSync(path);
  }
  expect([...found.keys()].filter((version) => version !== 1 && version !== 3)).toEqual([]);
  expect(kills).toBeGreaterThan(0);
  countFigures('kills', [['while a file is brought along', kills]]);
  process.stdout.write(
    `killed while a file is brought along: ${kills} of 12, versions ${JSON.stringify([...found])}, each one is whole\n`,
  );
});

const WORKER = fileURLToPath(new URL('../support/migration-worker.mjs', import.meta.url));

/** Kills of an ordinary run; a long one takes every instant. */
const ORDINARY_KILLS = 10;

/** Brings a file along in a process that dies at an instant, or lives; what it printed, or how it died. */
function bring(path: string, instant: number): { readonly printed: string; readonly signal: string | null } {
  const { stdout, signal, stderr } = spawnSync(
    process.execPath,
    [WORKER, `sqlite:${path}`, String(instant)],
    { encoding: 'utf8' },
  );
  if (stderr !== '') throw new Error(stderr);
  return { printed: stdout, signal };
}

test('P1: killed before or after any statement that brings a file along, it is the old one or the new one, and becomes what it would have been', async () => {
  const directory = mkdtempSync(join(tmpdir(), 'custody-crash-statements-'));
  onTestFinished(() => rmSync(directory, { recursive: true, force: true }));
  const fresh = (name: string) => {
    const path = join(directory, `${name}.db`);
    writeFileSync(path, FIRST_SCHEMA);
    return path;
  };
  const heldBy = async (path: string) => {
    await using ledger = await openLedger(`sqlite:${path}`);
    expect(await ledger.verify({ rebuild: true })).toMatchObject({ ok: true, events: 14, problems: [] });
    return await snapshotOf(ledger);
  };
  const whole = fresh('whole');
  const instants = Number(bring(whole, 0).printed);
  const undisturbed = await heldBy(whole);
  const isLong = (process.env['CUSTODY_TEST_LONG'] ?? '') !== '';
  const stride = isLong ? 1 : Math.ceil(instants / ORDINARY_KILLS);
  const versions = new Set<number>();
  let kills = 0;

  for (let instant = 1; instant <= instants; instant += stride) {
    const path = fresh(`killed-${instant}`);
    expect(bring(path, instant)).toEqual({ printed: '', signal: 'SIGKILL' });
    kills += 1;
    versions.add(versionOf(path));
    expect(await heldBy(path), `killed at ${instant} of ${instants}`).toEqual(undisturbed);
  }

  expect([...versions].filter((version) => version !== 1 && version !== 3)).toEqual([]);
  countFigures('kills', [['statements of a migration on sqlite', kills]]);
}, 900_000);
