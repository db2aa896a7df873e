import {
  existsSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Worker } from 'node:worker_threads';
import { BusyError } from '@custody/ledger';
import { afterEach, beforeEach, describe, expect, it, onTestFinished, vi } from 'vitest';
import { takeLock } from '../../../packages/ledger/src/adapters/jsonl/lock-file.ts';

const RULES = { pollMs: 1, waitMs: 30, staleMs: 10_000 };

/** Every other process is a stranger's. */
const notOurs = async () => false;

/** Reads a file over and over until it is told to stop, and counts how often it was there and empty. */
const WATCHER = `
  const { parentPort, workerData } = require('node:worker_threads');
  const { readFileSync } = require('node:fs');
  const stop = new Int32Array(workerData.stop);
  let seen = 0;
  let empty = 0;
  parentPort.postMessage('watching');
  while (Atomics.load(stop, 0) === 0) {
    try {
      seen += 1;
      if (readFileSync(workerData.path, 'utf8') === '') empty += 1;
    } catch {
      seen -= 1;
    }
  }
  parentPort.postMessage({ seen, empty });
`;

describe('a lock file', () => {
  let directory = '';

  beforeEach(() => {
    directory = mkdtempSync(join(tmpdir(), 'custody-lock-'));
  });

  afterEach(() => {
    rmSync(directory, { recursive: true, force: true });
  });

  const path = () => join(directory, 'row.json.lock');

  /** Leaves a lock of a process, as old as it is told to be. */
  function leaveLock(content: string, ageSeconds: number): void {
    writeFileSync(path(), content);
    const then = Date.now() / 1000 - ageSeconds;
    utimesSync(path(), then, then);
  }

  // The first process of a host is never gone; the highest number that a host can give is never taken.
  const GONE = 'pid=2147483647 ts=1\n';
  const ALIVE = 'pid=1 ts=1\n';

  it('names its process and time, and is gone after its release', async () => {
    const lock = await takeLock(path(), RULES, notOurs);

    expect(readFileSync(path(), 'utf8')).toMatch(new RegExp(`^pid=${process.pid} ts=\\d{10}\\n?$`));
    lock.release();
    expect(readdirSync(directory)).toEqual([]);
  });

  it('is waited for and then refused while somebody holds it', async () => {
    const lock = await takeLock(path(), RULES, notOurs);

    await expect(takeLock(path(), RULES, notOurs)).rejects.toBeInstanceOf(BusyError);

    lock.release();
    (await takeLock(path(), RULES, notOurs)).release();
  });

  it('is never there without its content: a process that dies in between would block the log for ever', async () => {
    const stop = new SharedArrayBuffer(4);
    const watcher = new Worker(WATCHER, { eval: true, workerData: { path: path(), stop } });
    const next = () => new Promise((resolve) => watcher.once('message', resolve));
    await next();

    const counted = next();
    for (let index = 0; index < 3000; index += 1) (await takeLock(path(), RULES, notOurs)).release();
    Atomics.store(new Int32Array(stop), 0, 1);

    const { seen, empty } = (await counted) as { seen: number; empty: number };
    expect(seen).toBeGreaterThan(0);
    expect(empty).toBe(0);
    await watcher.terminate();
  });

  it('is taken over from a process that is gone, once it is old enough', async () => {
    leaveLock(GONE, 11);

    const lock = await takeLock(path(), RULES, notOurs);

    expect(readFileSync(path(), 'utf8')).toContain(`pid=${process.pid} `);
    lock.release();
    expect(existsSync(path())).toBe(false);
  });

  it('B46: is never taken over from a process that may not be asked: only "no such process" is proof', async () => {
    leaveLock(GONE, 1000);
    const kill = vi.spyOn(process, 'kill').mockImplementation(() => {
      throw Object.assign(new Error('kill EPERM'), { code: 'EPERM' });
    });
    onTestFinished(() => kill.mockRestore());

    await expect(takeLock(path(), RULES, notOurs)).rejects.toBeInstanceOf(BusyError);

    expect(readFileSync(path(), 'utf8')).toBe(GONE);
  });

  it('is taken over at once from a process of ours that is gone', async () => {
    leaveLock(GONE, 0);

    const lock = await takeLock(path(), RULES, async (pid) => pid === 2147483647);

    expect(readFileSync(path(), 'utf8')).toContain(`pid=${process.pid} `);
    lock.release();
  });

  it.each([
    ['is young', GONE, 5],
    ['belongs to a living process', ALIVE, 1000],
    ['names no process', '', 1000],
    ['names something else', 'locked by hand', 1000],
  ])('is never taken over when it %s', async (_case, content, age) => {
    leaveLock(content, age);

    await expect(takeLock(path(), RULES, notOurs)).rejects.toBeInstanceOf(BusyError);

    expect(readFileSync(path(), 'utf8')).toBe(content);
    expect(readdirSync(directory)).toHaveLength(1);
  });

  it('that somebody else took over is not removed by a late release', async () => {
    const lock = await takeLock(path(), RULES, notOurs);
    rmSync(path());
    writeFileSync(path(), ALIVE);

    lock.release();

    expect(readFileSync(path(), 'utf8')).toBe(ALIVE);
  });

  it('is taken over by one of many', async () => {
    leaveLock(GONE, 11);

    const answers = await Promise.allSettled(
      Array.from({ length: 10 }, () => takeLock(path(), RULES, notOurs)),
    );

    expect(answers.filter((answer) => answer.status === 'fulfilled')).toHaveLength(1);
  });
});
