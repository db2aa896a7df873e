import { mkdtempSync, rmSync } from 'node:fs';
import { mkdir, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import type { ReplicaReader, TaskRow } from '@custody/ledger';
import { InvalidRowError, openLedger, readEffectiveRow } from '@custody/ledger';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { rowOf } from '../../support/row.ts';

describe('reading an effective row', () => {
  let root = '';

  beforeEach(() => {
    root = mkdtempSync(join(tmpdir(), 'custody-replica-'));
  });

  afterEach(() => {
    rmSync(root, { recursive: true, force: true });
  });

  async function writeReplica(drive: string, taskId: string, text: string | Uint8Array): Promise<void> {
    const path = join(root, drive, 'task_results', `${taskId}.json`);
    await mkdir(dirname(path), { recursive: true });
    await writeFile(path, text);
  }

  /** Reads copies as a ledger on that data root does. */
  async function replicasIn(dataRoot: string): Promise<ReplicaReader> {
    await using ledger = await openLedger(`jsonl:${dataRoot}`);
    if (ledger.replicas === null) throw new Error('a data root has replicas');
    return ledger.replicas;
  }

  async function rowsOf(...rows: readonly TaskRow[]) {
    const ledger = await openLedger('memory:');
    await ledger.rows.put(rows);
    return ledger.rows;
  }

  const running = { status: 'running', delegated_runs_unreconciled: ['run-1'] };

  it('ruling 10: takes a relative child drive from the data root', async () => {
    const rows = await rowsOf(rowOf('t-1', { ...running, child_drive_root: 'children/t-1' }));
    await writeReplica('children/t-1', 't-1', '{"status":"completed"}');

    const shown = await readEffectiveRow(rows, 't-1', await replicasIn(root));

    expect(shown?.status).toBe('completed');
  });

  it('looks on the drives that the row names, then on those of its metadata', async () => {
    const rows = await rowsOf(
      rowOf('t-1', {
        ...running,
        child_drive_root: 'gone',
        drive_root: join(root, 'broken'),
        metadata: { headless_child_drive_root: 'good' },
      }),
    );
    await writeReplica('broken', 't-1', '{"status":');
    await writeReplica('good', 't-1', '{"status":"failed"}');

    const shown = await readEffectiveRow(rows, 't-1', await replicasIn(root));

    expect(shown?.status).toBe('failed');
  });

  it.each([
    ['invalid UTF-8', Uint8Array.from([0x7b, 0x22, 0xff, 0x22, 0x3a, 0x31, 0x7d])],
    ['a byte order mark', '\ufeff{"status":"completed"}'],
    ['a foreign schema version', '{"_schema_version":2,"status":"completed"}'],
    ['a list', '[]'],
  ])('does without a replica that is %s', async (_case, text) => {
    const rows = await rowsOf(rowOf('t-1', { ...running, child_drive_root: 'child' }));
    await writeReplica('child', 't-1', text);

    const shown = await readEffectiveRow(rows, 't-1', await replicasIn(root));

    expect(shown?.status).toBe('running');
  });

  it('does without replicas on a store that has no data root', async () => {
    const rows = await rowsOf(rowOf('t-1', { ...running, child_drive_root: 'child' }));
    await writeReplica('child', 't-1', '{"status":"completed"}');

    expect((await readEffectiveRow(rows, 't-1', null))?.status).toBe('running');
  });

  it('loads each retry once and ends a cycle', async () => {
    const rows = await rowsOf(
      rowOf('t-1', { status: 'failed', retry_task_id: 't-2' }),
      rowOf('t-2', { status: 'failed', retry_task_id: 't-1' }),
    );
    const asked: string[] = [];
    const counting = {
      load: (id: string) => {
        asked.push(id);
        return rows.load(id);
      },
    };

    const shown = await readEffectiveRow(counting, 't-1', null);

    expect(shown?.task_id).toBe('t-2');
    expect(asked).toEqual(['t-1', 't-2']);
  });

  it('is null for a task without a row', async () => {
    expect(await readEffectiveRow(await rowsOf(), 't-none', null)).toBeNull();
  });

  it('shows the row that names a retry which can’t be read, and refuses one that can’t be read itself', async () => {
    const row = rowOf('t-1', { status: 'failed', retry_task_id: 't-broken' });
    const rows = {
      load: async (id: string) => {
        if (id === 't-1') return { row, version: '1' };
        throw new InvalidRowError('the row is not a JSON object', { hint: 'Repair it.' });
      },
    };

    expect(await readEffectiveRow(rows, 't-1', null)).toBe(row);
    await expect(readEffectiveRow(rows, 't-broken', null)).rejects.toThrow(InvalidRowError);
  });

  it('follows at most 1,000 retries', async () => {
    const load = async (id: string) => ({
      row: rowOf(id, { status: 'failed', retry_task_id: `t-${Number(id.slice(2)) + 1}` }),
      version: '1',
    });

    expect((await readEffectiveRow({ load }, 't-0', null))?.task_id).toBe('t-1000');
  });
});
