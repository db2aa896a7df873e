import { appendFileSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { dirname } from 'node:path';
import type { Ledger } from '@custody/ledger';
import { describe, expect, test, vi } from 'vitest';
import type { CliBench } from '../support/cli.ts';
import { cliBench, shaped, toLines } from '../support/cli.ts';
import { ERROR_SCHEMA } from '../support/cli-schemas.ts';
import { settled, started } from '../support/events.ts';
import { jsonlRoot } from '../support/jsonl-root.ts';
import { eventsOf } from '../support/log.ts';

/** The disk of this process: what it does with the next syncs, oldest first; an empty list is a disk that works. */
const disk = vi.hoisted(() => ({ syncs: [] as string[], isFull: false }));

vi.mock('node:fs', async (original) => {
  const fs = await original<typeof import('node:fs')>();
  return {
    ...fs,
    // A file can still be made on a full disk: a name needs no room, what stands in the file does.
    writeFileSync: ((path, data, options) => {
      fs.writeFileSync(path, disk.isFull ? '' : data, options);
      if (disk.isFull) throw Object.assign(new Error('ENOSPC: write'), { code: 'ENOSPC', syscall: 'write' });
    }) satisfies typeof fs.writeFileSync,
    fdatasyncSync: (fd: number) => {
      const code = disk.syncs.shift();
      if (code !== undefined)
        throw Object.assign(new Error(`${code}: fdatasync`), { code, syscall: 'fdatasync' });
      fs.fdatasyncSync(fd);
    },
  };
});

const runsOf = async (ledger: Ledger) =>
  (await eventsOf(ledger)).map(({ type, run_id }) => `${type} ${String(run_id)}`);

describe('B108: an append whose sync failed', () => {
  test.each(['EIO', 'ENOSPC'])('B108: is refused on %s, and nobody reads it afterwards', async (code) => {
    const root = jsonlRoot();
    const ledger = await root.open();
    await ledger.append([started('r-1', 't-1')]);
    const before = readFileSync(root.log);

    disk.syncs.push(code);
    await expect(ledger.append([settled('r-1')])).rejects.toMatchObject({ code: 'log_unreadable' });

    expect(readFileSync(root.log).equals(before)).toBe(true);
    expect(await ledger.custody.run('r-1')).toMatchObject({ settled: false });
    // The same again, once the disk is well: it is written once.
    await ledger.append([settled('r-1')]);
    expect(await runsOf(await root.open())).toEqual(['run.started r-1', 'run.settled r-1']);
    expect(await ledger.verify({ rebuild: true })).toMatchObject({ ok: true, events: 2, problems: [] });
  });

  test('B108: on a disk that fails for good everything is refused, and what was acknowledged stays', async () => {
    const root = jsonlRoot();
    const ledger = await root.open();
    await ledger.append([started('r-1', 't-1')]);

    disk.syncs.push('EIO', 'EIO', 'EIO');
    const answers = await Promise.allSettled(
      ['r-2', 'r-3'].map((run) => ledger.append([started(run, 't-1')])),
    );
    disk.syncs.length = 0;

    expect(answers.map((answer) => answer.status)).toEqual(['rejected', 'rejected']);
    expect(await runsOf(await root.open())).toEqual(['run.started r-1']);
  });
});

test('B30: a lock that a full disk can’t take refuses the append and leaves no file behind', async () => {
  const root = jsonlRoot();
  const ledger = await root.open();
  await ledger.append([started('r-1', 't-1')]);
  const before = readdirSync(dirname(root.log));

  disk.isFull = true;
  const answers = await Promise.allSettled(
    [1, 2, 3].map((n) => ledger.append([started(`r-full-${n}`, 't-1')])),
  );
  disk.isFull = false;

  expect(answers).toMatchObject(
    answers.map(() => ({ status: 'rejected', reason: { code: 'log_unreadable' } })),
  );
  expect(readdirSync(dirname(root.log))).toEqual(before);
  await ledger.append([settled('r-1')]);
  expect(await runsOf(ledger)).toEqual(['run.started r-1', 'run.settled r-1']);
});

/** Two events that fill a page of the disk, and more. */
const LARGE = toLines({ ...started('r-1', 't-1'), id: 'e-1', note: 'x'.repeat(12_000) });
const BATCH = toLines(
  ...Array.from({ length: 4000 }, (_, index) => ({
    ...started(`r-${index}`, 't-1'),
    note: 'x'.repeat(1000),
  })),
);
const SMALL = toLines({ ...started('r-2', 't-1'), id: 'e-2' });

/** Runs an append on a disk that has as many bytes left for a file as it takes to the next KiB and some more. */
async function appendTo(
  bench: CliBench,
  store: string,
  { file, freeKiB }: { file: string; freeKiB: number },
) {
  const fileLimitKiB = Math.ceil(statSync(bench.path(file)).size / 1024) + freeKiB;
  return bench.json(['-s', store, 'event', 'append'], { stdin: LARGE, fileLimitKiB });
}

describe('B30: a full disk leaves no half of a line behind', () => {
  test('B30: on JSONL the refused event is gone, and the next one is whole', async () => {
    const bench = cliBench();
    await bench.run(['-s', 'jsonl:root', 'init']);
    // The log is the largest file, so that it is the one that meets the limit.
    writeFileSync(
      bench.path('root/logs/events.jsonl'),
      `${JSON.stringify({ type: 'chat', text: 'x'.repeat(600_000) })}\n`,
    );
    const before = readFileSync(bench.path('root/logs/events.jsonl'));

    const refused = await appendTo(bench, 'jsonl:root', { file: 'root/logs/events.jsonl', freeKiB: 4 });

    expect({ exit: refused.code, ...shaped(ERROR_SCHEMA, refused.value).error }).toMatchObject({
      exit: 3,
      code: 'log_unreadable',
      path: 'root/logs/events.jsonl',
    });
    expect(readFileSync(bench.path('root/logs/events.jsonl')).equals(before)).toBe(true);
    expect((await bench.run(['-s', 'jsonl:root', 'event', 'append'], { stdin: SMALL })).code).toBe(0);
    expect(await bench.lines(['-s', 'jsonl:root', 'event', 'list'])).toMatchObject([{ id: 'e-2', seq: 1 }]);
    expect((await bench.json(['-s', 'jsonl:root', 'verify', '--rebuild'])).value).toMatchObject({
      ok: true,
      notes: [],
    });
  });

  test('B30: a half of a line that another program left is fenced off', async () => {
    const bench = cliBench();
    await bench.run(['-s', 'jsonl:root', 'event', 'append'], { stdin: SMALL });
    appendFileSync(bench.path('root/logs/events.jsonl'), LARGE.slice(0, 4096));

    expect((await bench.run(['-s', 'jsonl:root', 'event', 'append'], { stdin: LARGE })).code).toBe(0);

    expect(await bench.lines(['-s', 'jsonl:root', 'event', 'list'])).toMatchObject([
      { id: 'e-2' },
      { id: 'e-1' },
    ]);
    const { value } = await bench.json(['-s', 'jsonl:root', 'verify']);
    expect(value).toMatchObject({ ok: true, notes: [{ code: 'torn_line', line: 2 }] });
  });

  test.each([
    ['one event', LARGE, 10],
    ['a batch beyond the cache of the database', BATCH, 300],
  ])(
    'B30: on SQLite %s is refused with the reason, nothing of it is kept, and the store goes on',
    async (_what, stdin, fileLimitKiB) => {
      const bench = cliBench();
      await bench.run(['event', 'append'], { stdin: SMALL });

      const refused = await bench.json(['event', 'append', '--atomic'], { stdin, fileLimitKiB });

      const { error } = shaped(ERROR_SCHEMA, refused.value);
      expect({ exit: refused.code, ...error }).toMatchObject({ exit: 3, code: 'store_unreadable' });
      expect(error.message).toContain('.custody/custody.db');
      expect(await bench.lines(['event', 'list'])).toMatchObject([{ id: 'e-2', seq: 1 }]);
      expect((await bench.run(['event', 'append'], { stdin: LARGE })).code).toBe(0);
      expect((await bench.json(['verify', '--rebuild'])).value).toMatchObject({ ok: true, events: 2 });
    },
  );
});
