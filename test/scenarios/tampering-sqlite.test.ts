import { createHash } from 'node:crypto';
import { copyFileSync, mkdtempSync, readFileSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { openLedger } from '@custody/ledger';
import fc from 'fast-check';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { anyHistory } from '../support/event-arbitrary.ts';
import { openRawSqlite } from '../support/raw-sqlite.ts';
import { anyRowEdit, editRow, noRowEdits } from '../support/row-edits.ts';
import { signingKeys } from '../support/signing-keys.ts';
import { withoutSqliteGuards } from '../support/tamper-sqlite.ts';
import { EDITS, fillLog, fillTables } from '../support/tampered-tables.ts';
import { anyTampering, noTamperings, tamper, tellTamperings } from '../support/tampering.ts';

const RUNS = process.env['CUSTODY_TEST_LONG'] === undefined ? 100 : 2000;
/** Thousands of histories on a busy machine. */
const LONG_TEST_MS = 1_800_000;
const KEYS = signingKeys();

let directory = '';

beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), 'custody-tamper-'));
});

afterEach(() => {
  rmSync(directory, { recursive: true, force: true });
});

/** The file, by the hash of its bytes, and whether there is something to be folded into it. */
function bytesOf(path: string): unknown {
  const pending = statSync(`${path}-wal`, { throwIfNoEntry: false })?.size ?? 0;
  return { file: createHash('sha256').update(readFileSync(path)).digest('hex'), pending };
}

describe('tampering with a SQLite store', () => {
  test(
    'P2: any flipped byte, any column, and any removed, inserted, swapped, cut or rewritten event is named with its place, and no byte is changed by looking',
    async () => {
      let place = 0;
      const found = noTamperings();
      await fc.assert(
        fc.asyncProperty(anyHistory, anyTampering, async (history, choose) => {
          place += 1;
          const path = join(directory, `${place}.db`);
          const ledger = await openLedger(`sqlite:${path}`);
          await fillLog(ledger, history);
          const checkpoint = await ledger.takeCheckpoint({ privateKey: KEYS.privateKey });
          const { seq, hash } = await ledger.head();
          await ledger.close();
          const tampering = choose(seq);

          const expected = await withoutSqliteGuards(path, (store) => tamper(store, tampering));

          const before = bytesOf(path);
          await using looking = await openLedger(`sqlite:${path}`, { readOnly: true });
          const report = await looking.verify({ expectHead: { seq, hash } });
          const signed = await looking.verify({ proof: { checkpoint, publicKey: KEYS.publicKey } });
          await looking.close();
          expect({ tampering, ok: report.ok, seq: report.problems[0]?.seq }).toEqual({
            tampering,
            ok: false,
            // A log that was made anew from one event on is right in itself; what was noted of it is not.
            seq: tampering.kind === 'rewrite' ? seq : expected,
          });
          expect(signed.ok).toBe(false);
          expect(bytesOf(path)).toEqual(before);
          found[tampering.kind] += 1;
          for (const name of [path, `${path}-wal`, `${path}-shm`]) rmSync(name, { force: true });
        }),
        { numRuns: RUNS },
      );
      tellTamperings('sqlite', found);
      // Each kind was tried.
      expect(Object.values(found).every((count) => count > 0)).toBe(true);
    },
    LONG_TEST_MS,
  );

  test('P2: without a head from elsewhere, a cut log is whole in itself: that is what the head is for', async () => {
    const path = join(directory, 'cut.db');
    const ledger = await openLedger(`sqlite:${path}`);
    await fillLog(ledger, []);
    const { seq, hash } = await ledger.head();
    await ledger.close();
    await withoutSqliteGuards(path, (store) => tamper(store, { kind: 'truncate', at: 3 }));

    await using looking = await openLedger(`sqlite:${path}`, { readOnly: true });

    expect(await looking.verify()).toMatchObject({ ok: true, events: 2 });
    expect(await looking.verify({ expectHead: { seq, hash } })).toMatchObject({
      problems: [{ code: 'truncated', seq: 2 }],
    });
  });

  async function richStore(path: string): Promise<void> {
    await using ledger = await openLedger(`sqlite:${path}`);
    await fillTables(ledger);
    expect(await ledger.verify({ rebuild: true })).toMatchObject({ ok: true, problems: [] });
  }

  test.each(EDITS)('V10: $what that was edited is found by --rebuild', async ({ statement, expected }) => {
    const path = join(directory, 'edited.db');
    await richStore(path);
    await withoutSqliteGuards(path, ({ run, placeOf, ledger }) => run(statement(placeOf, ledger)));

    await using looking = await openLedger(`sqlite:${path}`, { readOnly: true });
    const report = await looking.verify({ rebuild: true });

    expect(report.ok).toBe(false);
    expect(report.problems[0]).toMatchObject(expected);
  });

  test('V10: a document of state that is no JSON any more is told as a corrupt store, and not as a fault of custody', async () => {
    const path = join(directory, 'state.db');
    await richStore(path);
    await withoutSqliteGuards(path, ({ run }) =>
      run(`insert or replace into state_document values ('main', 'epoch', '{')`),
    );

    await using ledger = await openLedger(`sqlite:${path}`);

    await expect(ledger.state.load('epoch')).rejects.toMatchObject({ code: 'store_corrupt' });
  });

  test(
    'V10: any row that was edited, of any table that follows from the log, is named by --rebuild',
    async () => {
      const rich = join(directory, 'rich.db');
      await richStore(rich);
      const found = noRowEdits();
      await fc.assert(
        fc.asyncProperty(anyRowEdit, async (edit) => {
          const path = join(directory, 'edited.db');
          copyFileSync(rich, path);
          const expected = await withoutSqliteGuards(path, (store) => editRow(store, edit));
          const before = bytesOf(path);

          await using looking = await openLedger(`sqlite:${path}`, { readOnly: true });
          const report = await looking.verify({ rebuild: true });
          await looking.close();

          expect({ edit, problems: report.problems }).toEqual({
            edit,
            problems: expect.arrayContaining([expect.objectContaining(expected)]) as unknown,
          });
          expect(report.problems[0]?.message).toContain(edit.table);
          expect(bytesOf(path)).toEqual(before);
          found[edit.table] = (found[edit.table] ?? 0) + 1;
          for (const name of [path, `${path}-wal`, `${path}-shm`]) rmSync(name, { force: true });
        }),
        { numRuns: 2 * RUNS },
      );
      tellTamperings('rows of sqlite', found);
      expect(Object.values(found).every((count) => count > 0)).toBe(true);
    },
    LONG_TEST_MS,
  );

  test('P4: a frozen field that an orchestrator wrote and somebody edited is named by the signed list, with its task', async () => {
    const path = join(directory, 'frozen.db');
    await richStore(path);
    const lines: string[] = [];
    const ledger = await openLedger(`sqlite:${path}`);
    const checkpoint = await ledger.takeCheckpoint({
      privateKey: KEYS.privateKey,
      writeRow: async (line) => void lines.push(line),
    });
    await ledger.close();
    const db = openRawSqlite(path);
    const trigger = db
      .prepare(`select sql from sqlite_master where name = 'frozen_part_is_immutable'`)
      .get() as { sql: string };
    db.exec('drop trigger frozen_part_is_immutable');
    db.exec(`update task_row set frozen = replace(frozen, 'provider', 'Provider') where task_id = 't-1'`);
    db.exec(trigger.sql);
    db.close();
    async function* listed(): AsyncGenerator<string, void> {
      yield* lines;
    }

    await using looking = await openLedger(`sqlite:${path}`, { readOnly: true });

    // The log does not hold what an orchestrator wrote: that is what the list is for.
    expect(await looking.verify({ rebuild: true })).toMatchObject({ ok: true });
    expect(
      await looking.verify({ proof: { checkpoint, publicKey: KEYS.publicKey, frozenRows: listed() } }),
    ).toMatchObject({
      ok: false,
      problems: [
        {
          code: 'frozen_field_changed',
          task_id: 't-1',
          message: expect.stringContaining('reason_code') as string,
        },
      ],
    });
  });

  test('P2, P4: a guard that was taken out, changed or added is named, whatever was done without it', async () => {
    const tries: readonly [string, string][] = [
      ['drop trigger event_is_never_updated', 'the trigger event_is_never_updated is missing'],
      ['drop index event_by_run', 'the index event_by_run is missing'],
      [
        `drop trigger event_is_never_deleted;
         create trigger event_is_never_deleted before delete on event when 1 = 2 begin select 1; end`,
        'the trigger event_is_never_deleted was changed',
      ],
      [
        'create trigger mine after insert on event begin delete from leader; end',
        "the trigger mine is none of the ledger's",
      ],
    ];
    for (const [statement, message] of tries) {
      const path = join(directory, 'guards.db');
      await (await openLedger(`sqlite:${path}`)).close();
      const db = openRawSqlite(path);
      db.exec(statement);
      db.close();
      await using looking = await openLedger(`sqlite:${path}`, { readOnly: true });
      expect(await looking.verify()).toMatchObject({
        ok: false,
        problems: [{ code: 'guard_mismatch', message }],
      });
      await looking.close();
      for (const name of [path, `${path}-wal`, `${path}-shm`]) rmSync(name, { force: true });
    }
  });
});
