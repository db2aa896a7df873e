import { copyFileSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { JsonObject, Ledger } from '@custody/ledger';
import { openLedger } from '@custody/ledger';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { settled, started } from '../support/events.ts';

describe('a SQLite file that was put back from a backup', () => {
  let directory = '';

  beforeEach(() => {
    directory = mkdtempSync(join(tmpdir(), 'custody-restore-'));
  });

  afterEach(() => {
    rmSync(directory, { recursive: true, force: true });
  });

  const path = () => join(directory, 'custody.db');

  /** Opens the file for one step; a closed file is whole, without anything beside it. */
  async function once<T>(step: (open: Ledger) => Promise<T>): Promise<T> {
    const open = await openLedger(`sqlite:${path()}`);
    try {
      return await step(open);
    } finally {
      await open.close();
    }
  }

  async function positionOf(open: Ledger): Promise<JsonObject> {
    const result = await open.scan.settledAfter(null);
    if (result.outcome !== 'scanned') throw new Error('the log is unreadable');
    return result.next;
  }

  it('P7: a position from before is noticed when the log is shorter now', async () => {
    await once((open) => open.append([started('run-1', 't-1'), settled('run-1')]));
    copyFileSync(path(), join(directory, 'backup'));
    const position = await once(async (open) => {
      await open.append([started('run-2', 't-2'), settled('run-2')]);
      return positionOf(open);
    });

    copyFileSync(join(directory, 'backup'), path());

    expect(await once((open) => open.scan.settledAfter(position))).toMatchObject({
      task_ids: ['t-1'],
      moved: true,
    });
  });

  it('P7: and also when it has grown past the position with other events', async () => {
    await once((open) => open.append([started('run-1', 't-1'), settled('run-1')]));
    copyFileSync(path(), join(directory, 'backup'));
    const position = await once(async (open) => {
      await open.append([started('run-2', 't-2'), settled('run-2')]);
      return positionOf(open);
    });
    copyFileSync(join(directory, 'backup'), path());

    await once((open) =>
      open.append([started('run-3', 't-3'), settled('run-3'), started('run-4', 't-4'), settled('run-4')]),
    );

    expect(await once((open) => open.scan.settledAfter(position))).toMatchObject({
      task_ids: ['t-1', 't-3', 't-4'],
    });
  });

  it('a position that the backup has too is still good', async () => {
    const position = await once(async (open) => {
      await open.append([started('run-1', 't-1'), settled('run-1')]);
      return positionOf(open);
    });
    copyFileSync(path(), join(directory, 'backup'));
    await once((open) => open.append([started('run-2', 't-2'), settled('run-2')]));

    copyFileSync(join(directory, 'backup'), path());

    expect(await once((open) => open.scan.settledAfter(position))).toMatchObject({
      task_ids: [],
      moved: false,
    });
  });

  it('is found out by a head that is known from elsewhere', async () => {
    await once((open) => open.append([started('run-1', 't-1')]));
    copyFileSync(path(), join(directory, 'backup'));
    const { seq, hash } = await once(async (open) => {
      await open.append([settled('run-1')]);
      return open.head();
    });
    copyFileSync(join(directory, 'backup'), path());

    const shorter = await once((open) => open.verify({ expectHead: { seq, hash } }));
    await once((open) => open.append([settled('run-1', { state: 'failed' })]));
    const other = await once((open) => open.verify({ expectHead: { seq, hash } }));

    expect(shorter.problems).toMatchObject([{ code: 'truncated' }]);
    expect(other.problems).toMatchObject([{ code: 'head_not_in_chain', seq }]);
  });
});
