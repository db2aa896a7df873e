import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, readFileSync, realpathSync, utimesSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { STORES } from '../contract/stores.ts';
import { started } from '../support/events.ts';
import type { JsonlRoot } from '../support/jsonl-root.ts';
import { jsonlRoot } from '../support/jsonl-root.ts';
import { manualClock } from '../support/manual-clock.ts';
import { failedRow, putRow } from '../support/terminal-rows.ts';

/** Puts the append lock of a process there, written so many seconds ago. */
function leaveAppendLock(root: JsonlRoot, pid: number, secondsAgo: number): string {
  const path = appendLockOf(root);
  writeLock(path, pid, secondsAgo);
  return path;
}

function appendLockOf(root: JsonlRoot): string {
  const hash = createHash('sha256')
    .update(join(realpathSync(root.path), 'logs', 'events.jsonl'))
    .digest('hex');
  return join(root.path, 'logs', `.append_jsonl_${hash.slice(0, 12)}.lock`);
}

function writeLock(path: string, pid: number, secondsAgo: number): void {
  const then = Date.now() / 1000 - secondsAgo;
  writeFileSync(path, `pid=${pid} ts=${Math.floor(then)}`);
  utimesSync(path, then, then);
}

const TWO_DAYS = 172_800;

describe.skipIf(process.platform !== 'linux')(
  'B22: a lock survives neither the death of its owner nor a reused pid',
  () => {
    test('B22: the append lock of a dead process whose pid is somebody else’s now is taken over', async () => {
      const root = jsonlRoot();
      const ledger = await root.open();
      // As in a container, where the next process has the pid of the one that was killed: here it is our own.
      const lock = leaveAppendLock(root, process.pid, TWO_DAYS);

      expect(await ledger.append([started('r-1', 't-1')])).toMatchObject({ appended: 1 });

      expect(existsSync(lock)).toBe(false);
    });

    test('B22: and so is the lock of a row', async () => {
      const root = jsonlRoot();
      const ledger = await root.open();
      mkdirSync(join(root.path, 'task_results'), { recursive: true });
      writeLock(join(root.path, 'task_results', 't-1.json.lock'), process.pid, TWO_DAYS);

      await putRow(ledger, failedRow('t-1', []));

      expect(await ledger.rows.load('t-1')).not.toBeNull();
    });

    test('B46: the lock of a process that lives and may not be signalled is left alone, however old', async () => {
      const root = jsonlRoot();
      const ledger = await root.open();
      // The first process of the system: it runs, and belongs to somebody else unless we are root.
      await ledger.append([started('r-0', 't-1')]);
      const lock = leaveAppendLock(root, 1, 20);

      await expect(ledger.append([started('r-1', 't-1')])).rejects.toMatchObject({
        code: 'busy',
        facts: { path: lock, holder: expect.stringContaining('pid=1 ') as unknown },
      });

      expect(readFileSync(lock, 'utf8')).toMatch(/^pid=1 /);
      expect(root.lines()).toHaveLength(2);
    });
  },
);

describe.each(STORES)('B107: a clock that jumps, on $name', ({ open }) => {
  test('B107: forward: whoever led and finds nobody in his place goes on, and never with an older fence', async () => {
    const clock = manualClock();
    const { ledger } = await open({ clock });
    const first = await ledger.leaders.tryLead('sweep', 'a', 30_000);
    clock.advance(344_000);

    const renewed = await ledger.leaders.tryLead('sweep', 'a', 30_000);

    expect(first).toMatchObject({ outcome: 'leading', fence: 1 });
    expect(renewed).toMatchObject({ outcome: 'leading', fence: 2 });
    expect(await ledger.leaders.tryLead('sweep', 'b', 30_000)).toMatchObject({
      outcome: 'held',
      holder: 'a',
    });
  });

  test('B107: forward, and somebody else was first: the old leader is refused', async () => {
    const clock = manualClock();
    const { ledger } = await open({ clock });
    await ledger.leaders.tryLead('sweep', 'a', 30_000);
    clock.advance(344_000);
    await ledger.leaders.tryLead('sweep', 'b', 30_000);

    expect(await ledger.leaders.tryLead('sweep', 'a', 30_000)).toMatchObject({
      outcome: 'held',
      holder: 'b',
    });
  });

  test('B107: back by years: a dead leader leads for one term more, not for years', async () => {
    const clock = manualClock('2036-03-01T00:00:00.000Z');
    const { ledger } = await open({ clock });
    await ledger.leaders.tryLead('sweep', 'a', 30_000);
    clock.advance(Date.parse('2026-03-01T00:00:00.000Z') - Date.parse('2036-03-01T00:00:00.000Z'));

    expect(await ledger.leaders.tryLead('sweep', 'b', 30_000)).toEqual({
      outcome: 'held',
      holder: 'a',
      expires_at: '2026-03-01T00:00:30.000Z',
    });
    clock.advance(30_001);
    expect(await ledger.leaders.tryLead('sweep', 'b', 30_000)).toMatchObject({
      outcome: 'leading',
      fence: 2,
    });
  });

  test('B107: back, and the leader lives: it renews and keeps its fence', async () => {
    const clock = manualClock();
    const { ledger } = await open({ clock });
    await ledger.leaders.tryLead('sweep', 'a', 30_000);
    clock.advance(-3_600_000);
    await ledger.leaders.tryLead('sweep', 'b', 30_000);

    expect(await ledger.leaders.tryLead('sweep', 'a', 30_000)).toMatchObject({
      outcome: 'leading',
      fence: 1,
    });
    clock.advance(29_000);
    expect(await ledger.leaders.tryLead('sweep', 'b', 30_000)).toMatchObject({
      outcome: 'held',
      holder: 'a',
    });
  });
});

describe('F-58: a lock that can not be opened is not free', () => {
  test('F-58: the log is left as it is, and the writer is told which lock', async () => {
    const root = jsonlRoot();
    const ledger = await root.open();
    await ledger.append([started('r-0', 't-1')]);
    const log = join(root.path, 'logs', 'events.jsonl');
    const before = readFileSync(log, 'utf8');
    // Nobody can make a file where a folder is.
    mkdirSync(appendLockOf(root));

    await expect(ledger.append([started('r-1', 't-1')])).rejects.toMatchObject({
      code: 'busy',
      facts: { path: appendLockOf(root) },
    });

    expect(readFileSync(log, 'utf8')).toBe(before);
  });

  test('F-58: so is a row', async () => {
    const root = jsonlRoot();
    const ledger = await root.open();
    await putRow(ledger, failedRow('t-1', []));
    const row = join(root.path, 'task_results', 't-1.json');
    const before = readFileSync(row, 'utf8');
    mkdirSync(`${row}.lock`);

    await expect(putRow(ledger, failedRow('t-1', ['r-1']))).rejects.toMatchObject({ code: 'busy' });

    expect(readFileSync(row, 'utf8')).toBe(before);
  });
});
