import { mkdirSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { createReconciler } from '@custody/reconciler';
import { describe, expect, test } from 'vitest';
import { answersOf, openIds } from '../support/answers.ts';
import { openCounted } from '../support/counted-ledger.ts';
import type { ForeignRoot } from '../support/foreign-root.ts';
import { foreignRoot, startRow } from '../support/foreign-root.ts';

describe('a log that can’t be read', () => {
  const broken: readonly [string, (root: ForeignRoot) => () => void][] = [
    [
      'its live file is a folder',
      (root) => {
        renameSync(root.at('logs', 'events.jsonl'), root.at('logs', 'kept'));
        mkdirSync(root.at('logs', 'events.jsonl'));
        return () => {
          rmSync(root.at('logs', 'events.jsonl'), { recursive: true });
          renameSync(root.at('logs', 'kept'), root.at('logs', 'events.jsonl'));
        };
      },
    ],
    [
      'a segment is a folder',
      (root) => {
        mkdirSync(root.at('archive', 'events_20260401T000000.jsonl'));
        return () => rmSync(root.at('archive', 'events_20260401T000000.jsonl'), { recursive: true });
      },
    ],
    [
      'its archive can’t be listed',
      (root) => {
        renameSync(root.at('archive'), root.at('kept'));
        writeFileSync(root.at('archive'), '');
        return () => {
          rmSync(root.at('archive'));
          renameSync(root.at('kept'), root.at('archive'));
        };
      },
    ],
  ];

  test.each(broken)(
    'F7, A1, ruling 4: says so and writes nothing while %s, and goes on afterwards',
    async (_case, breakRoot) => {
      const root = foreignRoot();
      root.rows(startRow('run-1', 't-1'));
      root.rotate('events_20260301T010000.jsonl');
      root.rows(startRow('run-2', 't-1'));
      const { ledger } = await openCounted(root);
      expect(await openIds(ledger)).toEqual(['run-1', 'run-2']);
      const mend = breakRoot(root);

      expect(await ledger.custody.isReadable()).toBe(false);
      expect(await ledger.scan.settledAfter(null)).toEqual({ outcome: 'unreadable' });
      await expect(
        ledger.append([{ type: 'run.settled', run_id: 'run-1', state: 'failed' }]),
      ).rejects.toMatchObject({ code: 'log_unreadable' });
      await expect(ledger.head()).rejects.toMatchObject({ code: 'log_unreadable' });
      expect(await ledger.verify()).toMatchObject({ ok: false, problems: [{ code: 'log_unreadable' }] });
      expect(await createReconciler(ledger).audit(['t-1'])).toMatchObject({
        tasks: [
          {
            audit: {
              audit_status: 'failed',
              unreconciled: ['delegated_run_state_unknown:custody_log_unreadable'],
            },
          },
        ],
      });

      mend();
      expect(await ledger.custody.isReadable()).toBe(true);
      expect(await openIds(ledger)).toEqual(['run-1', 'run-2']);
      expect(await ledger.verify({ rebuild: true })).toMatchObject({ ok: true });
    },
  );

  test('A1: an absent log is a clean one', async () => {
    const root = foreignRoot();
    const { ledger, replays } = await openCounted(root);

    expect(await ledger.custody.isReadable()).toBe(true);
    expect(await answersOf(ledger)).toMatchObject({ seq: 0, open: [] });
    expect(replays()).toBe(0);
  });
});
