import { mkdirSync, readdirSync, readFileSync, rmSync, statSync, truncateSync, writeFileSync } from 'node:fs';
import { compareCodePoints, openLedger } from '@custody/ledger';
import { createReconciler } from '@custody/reconciler';
import { describe, expect, test } from 'vitest';
import { answersOf, openIds } from '../support/answers.ts';
import { openCounted } from '../support/counted-ledger.ts';
import type { ForeignRoot } from '../support/foreign-root.ts';
import { foreignRoot, settleRow, startRow } from '../support/foreign-root.ts';
import { failedRow, putRow } from '../support/terminal-rows.ts';

describe('the index of a JSONL store', () => {
  const damages: readonly [string, (path: string) => void][] = [
    ['deleted', (path) => rmSync(path)],
    [
      'deleted with all that stands beside it',
      (path) => {
        for (const part of ['', '-wal', '-shm']) rmSync(path + part, { force: true });
      },
    ],
    ['overwritten with what is no database', (path) => writeFileSync(path, 'x'.repeat(20_000))],
    ['emptied', (path) => truncateSync(path, 0)],
  ];

  test.each(damages)('V10: %s, it is made anew, also while a ledger is open', async (_case, damage) => {
    const root = foreignRoot();
    root.rows(startRow('run-1', 't-1'), settleRow('run-1', 't-1'), startRow('run-2', 't-1'));
    const { ledger } = await openCounted(root);
    const answers = await answersOf(ledger);

    damage(root.at('state', 'custody.db'));
    const other = await root.open();
    expect(await answersOf(other)).toEqual(answers);
    root.rows(startRow('run-3', 't-1'));

    expect(await openIds(other)).toEqual(['run-2', 'run-3']);
    expect(await openIds(ledger)).toEqual(['run-2', 'run-3']);
    await ledger.append([{ type: 'run.closed_absent', run_id: 'run-3' }]);
    expect(await openIds(other)).toEqual(['run-2']);
    expect(await other.verify({ rebuild: true })).toMatchObject({ ok: true, events: 5 });
  });

  test('of another program is set aside, not destroyed', async () => {
    const root = foreignRoot();
    root.rows(startRow('run-1', 't-1'));
    mkdirSync(root.at('state'));
    await using other = await openLedger(`sqlite:${root.at('state', 'custody.db')}`);
    await other.append([{ type: 'run.started', run_id: 'precious', task_id: 't-9' }]);
    await other.close();

    const { ledger } = await openCounted(root);

    expect(await openIds(ledger)).toEqual(['run-1']);
    const aside = readdirSync(root.at('state')).find((name) => name.includes('set-aside'));
    await using kept = await openLedger(`sqlite:${root.at('state', aside ?? '')}`);
    expect(await openIds(kept)).toEqual(['precious']);
  });

  test('is of this process alone where its folder can’t be written', async () => {
    const root = foreignRoot();
    root.rows(startRow('run-1', 't-1'));
    root.put('state', 'a file where the folder would be');
    const { ledger, replays } = await openCounted(root);

    await ledger.append([{ type: 'run.started', run_id: 'run-2', task_id: 't-1' }]);
    expect(await openIds(ledger)).toEqual(['run-1', 'run-2']);
    expect(replays()).toBe(1);
    expect(root.text('state')).toBe('a file where the folder would be');
  });

  test('a store that is only read is left as it is, byte for byte, and reads the index where it can', async () => {
    const root = foreignRoot();
    root.rows(startRow('run-1', 't-1'));
    const writing = await root.open();
    await writing.head();
    await writing.close();
    const before = filesOf(root);
    let replays = 0;

    await using ledger = await openLedger(root.url, {
      readOnly: true,
      onReplay: () => {
        replays += 1;
      },
    });
    expect(await openIds(ledger)).toEqual(['run-1']);
    expect(replays).toBe(0);
    await expect(ledger.append([{ type: 'run.started', run_id: 'x', task_id: 't' }])).rejects.toMatchObject({
      code: 'store_unreadable',
    });
    await expect(ledger.state.save('refresh_cursor', {})).rejects.toMatchObject({ code: 'store_unreadable' });
    expect(await ledger.verify({ rebuild: true })).toMatchObject({ ok: true, problems: [] });
    expect(filesOf(root)).toEqual(before);

    root.rows(startRow('run-2', 't-1'));
    expect(await openIds(ledger)).toEqual(['run-1', 'run-2']);
  });

  test('S11: a backfill of many rows costs one replay at most', async () => {
    const root = foreignRoot();
    const ids = Array.from({ length: 20 }, (_, index) => `t-batch-${index}`);
    root.rows(...ids.flatMap((id) => [startRow(`run-${id}`, id), settleRow(`run-${id}`, id)]));
    const { ledger, replays } = await openCounted(root);
    for (const id of ids) await putRow(ledger, failedRow(id, [`run-${id}`]));

    expect(await createReconciler(ledger).backfill()).toMatchObject({
      refreshed: [...ids].sort(compareCodePoints),
      failed: [],
    });
    expect(replays()).toBe(1);
    expect(await createReconciler(ledger).backfill()).toMatchObject({ refreshed: [] });
    expect(replays()).toBe(1);
  });
});

function filesOf(root: ForeignRoot): Record<string, string> {
  const names = readdirSync(root.path, { recursive: true, encoding: 'utf8' }).sort();
  return Object.fromEntries(
    names.map((name) => [
      name,
      statSync(root.at(name)).isFile() ? readFileSync(root.at(name), 'base64') : '',
    ]),
  );
}
