import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { copyFileSync, existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { gunzipSync } from 'node:zlib';
import { openLedger } from '@custody/ledger';
import Database from 'better-sqlite3';
import { expect, onTestFinished, test } from 'vitest';
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
