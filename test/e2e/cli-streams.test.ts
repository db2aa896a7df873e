import type { ChildProcessWithoutNullStreams } from 'node:child_process';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, openSync, writeFileSync } from 'node:fs';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { expect, onTestFinished, test } from 'vitest';
import type { CliBench } from '../support/cli.ts';
import { CLI_BIN, cliBench, finished, toLines } from '../support/cli.ts';
import { filledStore } from '../support/cli-store.ts';

/** Where the driver of SQLite can be found. */
const LEDGER_PACKAGE = fileURLToPath(new URL('../../packages/ledger', import.meta.url));

/** Takes the write lock of a store, says so, and keeps it until it is killed. */
const HOLD_THE_LOCK = `
  const database = new (require('better-sqlite3'))(process.argv[1]);
  database.exec('begin immediate');
  console.log('held');
  setInterval(() => undefined, 1000);
`;

/** The lines of a running child, one at a time, as they come. */
function linesOf(child: ChildProcessWithoutNullStreams): () => Promise<unknown> {
  const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]();
  return async () => {
    const { value, done } = await lines.next();
    return done === true ? null : (JSON.parse(value) as unknown);
  };
}

/** Appends until the follower has seen the first line, because only then it is known to follow. */
async function firstSeen(bench: CliBench, next: () => Promise<unknown>): Promise<unknown> {
  const line = next();
  for (;;) {
    const ping = bench.run(['event', 'append'], { stdin: toLines({ type: 'x.ping' }) });
    const seen = await Promise.race([line, ping.then(() => null)]);
    await ping;
    if (seen !== null) return seen;
  }
}

test.for(['SIGINT', 'SIGTERM'] as const)(
  'event follow prints what is appended meanwhile, and %s ends it with exit 0',
  async (signal) => {
    const bench = await filledStore();
    const child = bench.start(['event', 'follow', '--json', '--interval', '10ms']);
    const next = linesOf(child);
    await firstSeen(bench, next);

    await bench.run(['event', 'append'], { stdin: toLines({ type: 'x.note', id: 'wanted' }) });
    let line = (await next()) as { type: string };
    while (line.type === 'x.ping') line = (await next()) as { type: string };

    expect(line).toMatchObject({ id: 'wanted', type: 'x.note' });
    child.kill(signal);
    expect(await once(child, 'close')).toEqual([0, null]);
  },
);

test('event follow --after begins with what is there, and filters', async () => {
  const bench = await filledStore();
  const child = bench.start(['event', 'follow', '--json', '--after', '0', '--run', 'run-1']);
  const next = linesOf(child);

  expect(await next()).toMatchObject({ seq: 2, run_id: 'run-1' });
  expect(await next()).toMatchObject({ seq: 4, run_id: 'run-1' });
  child.kill('SIGINT');
  expect(await once(child, 'close')).toEqual([0, null]);
});

test('event follow --last begins that many events back, as tail does, and not together with --after', async () => {
  const bench = await filledStore();
  const child = bench.start(['event', 'follow', '--json', '--last', '2']);
  const next = linesOf(child);

  expect(await next()).toMatchObject({ seq: 4 });
  expect(await next()).toMatchObject({ seq: 5 });
  child.kill('SIGINT');
  expect(await once(child, 'close')).toEqual([0, null]);
  const both = await bench.json(['event', 'follow', '--last', '2', '--after', '1']);
  expect(both).toMatchObject({ code: 2, value: { error: { code: 'usage', option: '--last' } } });
});

test('reconcile heals in its loop and SIGTERM stops it cleanly', async () => {
  const bench = await filledStore();
  const child = bench.start(['reconcile', '--json', '--every', '50ms', '--live', '']);
  const result = finished(child);
  const next = linesOf(child);

  expect(await next()).toMatchObject({ trigger: 'boot_backfill', refreshed: ['t-1'] });
  expect(await next()).toMatchObject({ trigger: 'sweep_refresh' });
  await bench.run(['event', 'append'], {
    stdin: toLines({ type: 'run.settled', run_id: 'run-2', state: 'succeeded' }),
  });
  let sweep = (await next()) as { refreshed: readonly string[] };
  while (sweep.refreshed.length === 0) sweep = (await next()) as { refreshed: readonly string[] };
  expect(sweep.refreshed).toEqual(['t-1']);
  child.kill('SIGTERM');

  expect(await result).toMatchObject({ code: 0, signal: null });
  expect(await bench.json(['verify', '--rebuild'])).toMatchObject({ code: 0 });
});

test('a reader that has seen enough ends a stream without a word', async () => {
  const bench = cliBench();
  await bench.run(['event', 'append'], {
    stdin: toLines(
      ...Array.from({ length: 20_000 }, (_, index) => ({ type: 'x.note', index, text: 'x'.repeat(100) })),
    ),
  });
  const child = bench.start(['event', 'list', '--json']);
  const stderr: Buffer[] = [];
  child.stderr.on('data', (piece: Buffer) => stderr.push(piece));

  await once(child.stdout, 'data');
  child.stdout.destroy();

  expect(await once(child, 'close')).toEqual([0, null]);
  expect(Buffer.concat(stderr).toString()).toBe('');
});

test('a writer that is slow sees its lines appended before it has ended', async () => {
  const bench = cliBench();
  await bench.run(['init']);
  const child = bench.start(['event', 'append', '--json']);
  const result = finished(child);

  child.stdin.write(`${toLines({ type: 'x.note', id: 'first' })}{"type":"x.no`);
  let seen = await bench.lines(['event', 'list']);
  while (seen.length === 0) seen = await bench.lines(['event', 'list']);
  expect(seen).toMatchObject([{ id: 'first' }]);
  child.stdin.end('te","id":"second"}');

  expect(await result).toMatchObject({
    code: 0,
    stdout: '{"appended":2,"duplicates":0,"first_seq":1,"last_seq":2}\n',
  });
});

test('a long input is appended in one go, and a bad line in its middle is named', async () => {
  const bench = cliBench();
  const events = Array.from({ length: 30_000 }, (_, index) => ({
    type: 'x.note',
    id: `e-${index}`,
    text: 'ä'.repeat(20),
  }));
  writeFileSync(bench.path('good.jsonl'), toLines(...events));
  writeFileSync(
    bench.path('bad.jsonl'),
    `${toLines(...events.slice(0, 20_000))}{"type":"nope"}\n${toLines(...events.slice(20_000))}`,
  );

  const bad = await bench.json(['event', 'append', 'bad.jsonl']);
  const good = await bench.json(['event', 'append', 'good.jsonl']);

  expect(bad).toMatchObject({
    code: 2,
    value: { error: { code: 'invalid_event', line: 20_001, appended: 20_000 } },
  });
  expect(good).toMatchObject({
    code: 0,
    value: { appended: 10_000, duplicates: 20_000, first_seq: 20_001, last_seq: 30_000 },
  });
  expect(await bench.json(['verify', '--rebuild'])).toMatchObject({ code: 0, value: { events: 30_000 } });
});

test('an append that is killed leaves whole events only, and the rest can be appended again (P1)', async () => {
  const bench = cliBench();
  await bench.run(['init']);
  const events = Array.from({ length: 20_000 }, (_, index) => ({ type: 'x.note', id: `e-${index}` }));
  writeFileSync(bench.path('events.jsonl'), toLines(...events));
  const child = bench.start(['event', 'append', 'events.jsonl']);
  const closed = once(child, 'close');

  let seen: readonly unknown[] = [];
  while (seen.length === 0) seen = await bench.lines(['event', 'list', '--limit', '1']);
  child.kill('SIGKILL');
  await closed;

  expect(await bench.json(['verify', '--rebuild'])).toMatchObject({ code: 0 });
  const again = (await bench.json(['event', 'append', 'events.jsonl'])).value as {
    appended: number;
    duplicates: number;
  };
  expect(again.appended + again.duplicates).toBe(20_000);
  expect(again.duplicates).toBeGreaterThan(0);
});

test('output that can not be written is an error, not a success', async () => {
  const bench = await filledStore();
  const full = openSync('/dev/full', 'w');
  const child = spawn(process.execPath, [CLI_BIN, 'event', 'list'], {
    cwd: bench.dir,
    stdio: ['ignore', full, 'pipe'],
  });
  closeSync(full);
  const stderr: Buffer[] = [];
  child.stderr?.on('data', (piece: Buffer) => stderr.push(piece));

  expect(await once(child, 'close')).toEqual([3, null]);
  expect(Buffer.concat(stderr).toString()).toContain("the results can't be written");
});

test('a store that another process holds for too long is busy: exit 4, and nothing was written', async () => {
  const bench = await filledStore();
  const holder = spawn(process.execPath, ['-e', HOLD_THE_LOCK, bench.path('.custody/custody.db')], {
    cwd: LEDGER_PACKAGE,
  });
  onTestFinished(() => {
    holder.kill('SIGKILL');
  });
  await once(holder.stdout, 'data');

  const { code, value } = await bench.json(['event', 'append'], { stdin: toLines({ type: 'x.note' }) });

  expect(code).toBe(4);
  expect(value).toMatchObject({ error: { code: 'busy', appended: 0 } });
  expect(await bench.json(['verify'])).toMatchObject({ code: 0, value: { events: 5 } });
});
