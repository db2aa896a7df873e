import { mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { JournalFiles, Ledger } from '@custody/ledger';
import { BusyError, diskJournalFiles, openJournals } from '@custody/ledger';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import type { Desk } from '../support/managed.ts';
import { MANAGING_STORES, openDesk } from '../support/managed.ts';

describe.each(MANAGING_STORES)('recoveries that meet a fault on $name', (kind) => {
  let directory = '';
  let desk: Desk;

  beforeEach(async () => {
    directory = mkdtempSync(join(tmpdir(), 'custody-journal-'));
    desk = await openDesk(kind);
    for (const taskId of ['t-1', 't-2', 't-3']) {
      await desk.ledger.tasks.create({ taskId, title: 'work' });
      const run = await desk.claim(taskId);
      await openJournals(directory).write({ taskId, runId: run.run_id, result: taskId });
    }
  });

  afterEach(() => {
    rmSync(directory, { recursive: true, force: true });
  });

  const statuses = async () =>
    Promise.all(['t-1', 't-2', 't-3'].map(async (taskId) => (await desk.task(taskId)).status));

  test('a file that can not be read now stays, and the others are applied', async () => {
    const disk = diskJournalFiles();
    const files: JournalFiles = {
      ...disk,
      read: (folder, name) =>
        name.startsWith('t-2') ? Promise.reject(new Error('EIO: i/o error')) : disk.read(folder, name),
    };

    const report = await openJournals(directory, { files }).recover(desk.ledger);

    expect(report).toMatchObject({ applied: 2, retry: 1, stale: 0, conflict: 0 });
    expect(report.files[1]).toMatchObject({ task_id: 't-2', outcome: 'retry', reason: 'EIO: i/o error' });
    expect(await statuses()).toEqual(['completed', 'running', 'completed']);
    expect(await openJournals(directory).recover(desk.ledger)).toMatchObject({ applied: 1, retry: 0 });
    expect(readdirSync(directory)).toEqual([]);
  });

  test('a store that is busy keeps every file for the next recovery', async () => {
    const busy: Pick<Ledger, 'runs' | 'leases'> = {
      leases: desk.ledger.leases,
      runs: {
        ...desk.ledger.runs,
        finalize: () => Promise.reject(new BusyError('locked', { hint: 'Try again.' })),
      },
    };

    expect(await openJournals(directory).recover(busy)).toMatchObject({
      applied: 0,
      retry: 3,
      conflict: 0,
      stale: 0,
    });
    expect(readdirSync(directory)).toHaveLength(3);
    expect(await openJournals(directory).recover(desk.ledger)).toMatchObject({ applied: 3 });
  });

  test('a file whose removal fails is removed by the next recovery, and applied once', async () => {
    const disk = diskJournalFiles();
    const files: JournalFiles = {
      ...disk,
      remove: () => Promise.reject(new Error('EROFS: read-only file system')),
    };

    // The result is in the ledger; the file is dealt with when it can be removed.
    expect(await openJournals(directory, { files }).recover(desk.ledger)).toMatchObject({
      applied: 3,
      retry: 0,
    });
    expect(await statuses()).toEqual(['completed', 'completed', 'completed']);
    const report = await openJournals(directory).recover(desk.ledger);
    expect(report).toMatchObject({ applied: 0, retry: 0, conflict: 0 });
    expect(report.files.map((file) => file.outcome)).toEqual([
      'already_applied',
      'already_applied',
      'already_applied',
    ]);
  });
});
