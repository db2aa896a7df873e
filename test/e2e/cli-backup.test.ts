import { once } from 'node:events';
import { existsSync, readdirSync, readFileSync, watch, writeFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import type { CliBench } from '../support/cli.ts';
import { finished, shaped, toLines } from '../support/cli.ts';
import { CLI_SCHEMAS, ERROR_SCHEMA, REFUSAL_SCHEMA } from '../support/cli-schemas.ts';
import { filledStore } from '../support/cli-store.ts';
import { openRawSqlite } from '../support/raw-sqlite.ts';

const STORE = '.custody/custody.db';

/** Names in the bench's folder that a backup may have left. */
function leavings(bench: CliBench): readonly string[] {
  return readdirSync(bench.dir).filter((name) => name.includes('copy.db') && name !== 'copy.db');
}

test('backup copies log and rows into one file that verifies, is a store, and can be restored', async () => {
  const bench = await filledStore();
  await bench.run(['backfill']);

  const report = shaped(CLI_SCHEMAS.backup, (await bench.json(['backup', 'copy.db'])).value);

  expect(report).toMatchObject({ file: 'copy.db', events: 6, head_seq: 6, verified: true });
  expect(report.bytes).toBe(readFileSync(bench.path('copy.db')).length);
  expect(leavings(bench)).toEqual([]);
  const rows = (store: readonly string[]) => bench.lines([...store, 'task', 'list']);
  expect(await rows(['-s', 'sqlite:copy.db'])).toEqual(await rows([]));
  // It goes on as a store of its own.
  const more = await bench.json(['-s', 'sqlite:copy.db', 'append'], { stdin: toLines({ type: 'x.note' }) });
  expect(more).toMatchObject({ code: 0, value: { first_seq: 7 } });
});

test('backup replaces nothing unless it is told to', async () => {
  const bench = await filledStore();
  writeFileSync(bench.path('copy.db'), 'precious');

  const refused = await bench.json(['backup', 'copy.db']);

  expect(refused.code).toBe(1);
  expect(shaped(REFUSAL_SCHEMA, refused.value)).toMatchObject({ reason: 'file_exists', file: 'copy.db' });
  expect(readFileSync(bench.path('copy.db'), 'utf8')).toBe('precious');
  expect((await bench.run(['backup', 'copy.db', '--force'])).code).toBe(0);
  expect((await bench.run(['-s', 'sqlite:copy.db', 'verify', '--rebuild'])).code).toBe(0);
  expect(leavings(bench)).toEqual([]);
});

test('backup takes one moment of a store that is written meanwhile', async () => {
  const bench = await filledStore();
  const writer = bench.start(['append']);
  const ended = finished(writer);
  const stop = new AbortController();
  const feed = async () => {
    for (let index = 0; !stop.signal.aborted; index += 1) {
      const isFull = !writer.stdin.write(
        toLines({ type: 'run.started', task_id: `w-${index}`, run_id: `w-run-${index}` }),
      );
      if (isFull) await once(writer.stdin, 'drain');
      else await new Promise((resolve) => setImmediate(resolve));
    }
    writer.stdin.end();
  };
  const fed = feed();
  const reports: { events: number }[] = [];
  for (const name of ['one.db', 'two.db', 'three.db']) {
    const { code, value } = await bench.json(['backup', name]);
    expect(code).toBe(0);
    reports.push(shaped(CLI_SCHEMAS.backup, value));
  }
  stop.abort();
  await fed;
  expect((await ended).code).toBe(0);

  const whole = await bench.lines(['event', 'export']);
  for (const [index, name] of ['one.db', 'two.db', 'three.db'].entries()) {
    const copied = await bench.lines(['-s', `sqlite:${name}`, 'event', 'export']);
    expect(copied).toEqual(whole.slice(0, reports[index]?.events));
    expect((await bench.run(['-s', `sqlite:${name}`, 'verify', '--rebuild'])).code).toBe(0);
  }
  expect(reports[2]?.events).toBeGreaterThan(reports[0]?.events ?? 0);
});

test.for(['absent', 'there'] as const)(
  'a backup that is killed while it copies leaves no half file where %s',
  async (before) => {
    const bench = await filledStore();
    const events = Array.from({ length: 20_000 }, (_, index) => ({
      type: 'x.note',
      text: `${index} ${'x'.repeat(200)}`,
    }));
    expect((await bench.run(['append'], { stdin: toLines(...events) })).code).toBe(0);
    if (before === 'there') writeFileSync(bench.path('copy.db'), 'precious');
    const watcher = watch(bench.dir);
    const begun = new Promise<void>((resolve) => {
      watcher.on('change', (_kind, name) => {
        if (String(name).endsWith('.tmp')) resolve();
      });
    });

    const child = bench.start(['backup', 'copy.db', '--force']);
    const ended = finished(child);
    await begun;
    child.kill('SIGKILL');
    const { signal } = await ended;
    watcher.close();

    expect(signal).toBe('SIGKILL');
    expect(existsSync(bench.path('copy.db')) ? readFileSync(bench.path('copy.db'), 'utf8') : 'absent').toBe(
      before === 'there' ? 'precious' : 'absent',
    );
    expect((await bench.run(['backup', 'copy.db', '--force'])).code).toBe(0);
  },
);

test('a store that does not verify is not backed up: its fault is told, and no file is left', async () => {
  const bench = await filledStore();
  const raw = openRawSqlite(bench.path(STORE));
  const guard = raw.prepare(`select sql from sqlite_master where name = 'event_is_never_updated'`).get() as {
    sql: string;
  };
  raw.exec('drop trigger event_is_never_updated');
  raw.exec(`update event set text = replace(text, 'snap-1', 'snap-2')`);
  raw.exec(guard.sql);
  raw.close();

  const { code, value } = await bench.json(['backup', 'copy.db']);

  expect(code).toBe(3);
  expect(shaped(ERROR_SCHEMA, value).error).toMatchObject({
    code: 'store_corrupt',
    problem: 'hash_mismatch',
  });
  expect(existsSync(bench.path('copy.db'))).toBe(false);
  expect(leavings(bench)).toEqual([]);
});

test('a place that can not be written, a store that is missing, and stores of other kinds are told', async () => {
  const bench = await filledStore();
  const codeOf = async (...args: readonly string[]) => {
    const { code, value } = await bench.json(args);
    const { error } = shaped(ERROR_SCHEMA, value);
    return { code, error: error.code };
  };

  expect(await codeOf('backup', 'nowhere/copy.db')).toEqual({ code: 3, error: 'output_failed' });
  expect(await codeOf('-s', 'sqlite:none.db', 'backup', 'copy.db')).toEqual({
    code: 3,
    error: 'store_missing',
  });
  for (const store of ['jsonl:root', 'memory:', 'postgres://nobody@localhost/none', 'http://localhost:1'])
    expect(await codeOf('-s', store, 'backup', 'copy.db')).toEqual({ code: 2, error: 'not_supported' });
  expect(existsSync(bench.path('copy.db'))).toBe(false);
});
