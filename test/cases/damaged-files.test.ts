import { createHash } from 'node:crypto';
import { cpSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Checkpoint } from '@custody/ledger';
import { openLedger, parseTaskRow, StoreError } from '@custody/ledger';
import { createReconciler } from '@custody/reconciler';
import { beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import { collect } from '../support/collect.ts';
import { settled, started } from '../support/events.ts';
import { countFigures } from '../support/figures.ts';
import { jsonlRoot } from '../support/jsonl-root.ts';
import { openRawSqlite } from '../support/raw-sqlite.ts';
import { seededRandom } from '../support/root-random.ts';
import { signingKeys } from '../support/signing-keys.ts';
import { failedRow } from '../support/terminal-rows.ts';

const FLIPS = process.env['CUSTODY_TEST_LONG'] === undefined ? 150 : 3000;
const STRIDE = process.env['CUSTODY_TEST_LONG'] === undefined ? 17 : 1;
const PAGE = 4096;
const KEYS = signingKeys();

/** What nobody may lose or change unseen, table by table. Signs of life, cursors and who leads are not among it. */
const KEPT: readonly string[] = [
  'select * from event order by seq',
  'select * from run order by run_id',
  'select * from run_evidence order by task_id, run_id',
  'select * from task_facts order by task_id',
  'select seq, hash from ledger_head',
  'select task_id, status, is_terminal, frozen, added from task_row order by task_id',
];

let prepared = '';
let bytes = Buffer.alloc(0);
let kept = '';
let checkpoint: Checkpoint;
const list: string[] = [];

function keptOf(path: string): string {
  const db = openRawSqlite(path);
  try {
    return createHash('sha256')
      .update(JSON.stringify(KEPT.map((query) => db.prepare(query).all())))
      .digest('hex');
  } finally {
    db.close();
  }
}

beforeAll(async () => {
  const folder = mkdtempSync(join(tmpdir(), 'custody-damage-'));
  prepared = join(folder, 'custody.db');
  const ledger = await openLedger(`sqlite:${prepared}`);
  for (let index = 0; index < 60; index += 1)
    await ledger.append([
      started(`run-${index}`, `t-${index % 9}`, { snapshot_id: 's' }),
      settled(`run-${index}`),
    ]);
  await ledger.rows.put(
    Array.from({ length: 9 }, (_, index) => parseTaskRow(JSON.stringify(failedRow(`t-${index}`, ['gone'])))),
  );
  await createReconciler(ledger).backfill();
  checkpoint = await ledger.takeCheckpoint({
    privateKey: KEYS.privateKey,
    writeRow: async (row) => void list.push(row),
  });
  await ledger.close();
  const db = openRawSqlite(prepared);
  // Pages that hold nothing any more.
  db.exec(`create table waste (text text)`);
  db.exec(`insert into waste select hex(zeroblob(3000)) from event limit 20`);
  db.exec('drop table waste');
  db.pragma('wal_checkpoint(truncate)');
  db.close();
  bytes = readFileSync(prepared);
  kept = keptOf(prepared);
  return () => rmSync(folder, { recursive: true, force: true });
});

async function* lines(): AsyncGenerator<string, void> {
  yield* list;
}

/** What looking at a damaged file says: that it is damaged and how, or that everything is well. */
async function lookAt(damaged: Buffer): Promise<string> {
  const folder = mkdtempSync(join(tmpdir(), 'custody-damage-'));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  const path = join(folder, 'custody.db');
  writeFileSync(path, damaged);
  try {
    await using ledger = await openLedger(`sqlite:${path}`, { readOnly: true });
    const report = await ledger.verify({
      rebuild: true,
      proof: { checkpoint, publicKey: KEYS.publicKey, frozenRows: lines() },
    });
    return report.ok
      ? keptOf(path) === kept
        ? 'nothing lost'
        : 'LOST UNSEEN'
      : (report.problems[0]?.code ?? '');
  } catch (error) {
    if (!(error instanceof StoreError)) throw error;
    return error.code;
  } finally {
    expect(readFileSync(path).equals(damaged)).toBe(true);
    rmSync(folder, { recursive: true, force: true });
  }
}

/** Pages that hold nothing: the trunks of the list, and the leaves that they name (numbers from 0). */
function freePages(): ReadonlySet<number> {
  const free = new Set<number>();
  for (let trunk = bytes.readUInt32BE(32); trunk !== 0; trunk = bytes.readUInt32BE((trunk - 1) * PAGE)) {
    free.add(trunk - 1);
    const leaves = bytes.readUInt32BE((trunk - 1) * PAGE + 4);
    for (let leaf = 0; leaf < leaves; leaf += 1)
      free.add(bytes.readUInt32BE((trunk - 1) * PAGE + 8 + 4 * leaf) - 1);
  }
  return free;
}

/** The pages of a class that are in use, by the first byte of their b-tree header. */
function pagesOf(type: number): readonly number[] {
  const free = freePages();
  return Array.from({ length: bytes.length / PAGE }, (_, page) => page).filter(
    (page) => !free.has(page) && bytes[page * PAGE + (page === 0 ? 100 : 0)] === type,
  );
}

describe('a SQLite file with a damaged page', () => {
  test.each([
    ['the header', () => [0]],
    ['a leaf of a table', () => pagesOf(0x0d).slice(1)],
    ['an inner page of a table', () => pagesOf(0x05)],
    ['a leaf of an index', () => pagesOf(0x0a)],
    ['the trunk of the list of free pages', () => [bytes.readUInt32BE(32) - 1]],
  ] as const)('B51: %s that was overwritten is reported, and no byte is changed', async (_what, pages) => {
    expect(pages().length).toBeGreaterThan(0);
    for (const page of pages()) {
      const damaged = Buffer.from(bytes);
      damaged.fill(0xa5, page * PAGE, (page + 1) * PAGE);
      expect({ page, answer: await lookAt(damaged) }).not.toEqual({ page, answer: 'nothing lost' });
      expect(await lookAt(damaged)).not.toBe('LOST UNSEEN');
    }
  });

  test('P2, P4: any flipped byte of the whole file is named, or has changed nothing that is kept', async () => {
    const random = seededRandom(20_260_301);
    const answers: Record<string, number> = {};
    for (let flip = 0; flip < FLIPS; flip += 1) {
      const damaged = Buffer.from(bytes);
      const at = random.int(0, bytes.length - 1);
      damaged[at] = (damaged[at] ?? 0) ^ random.int(1, 255);
      const answer = await lookAt(damaged);
      expect({ at, answer }).not.toEqual({ at, answer: 'LOST UNSEEN' });
      answers[answer] = (answers[answer] ?? 0) + 1;
    }
    countFigures('tamperings', [['bytes of a SQLite file', FLIPS]]);
    process.stdout.write(`flipped bytes: ${JSON.stringify(answers)}\n`);
    expect(answers['hash_mismatch']).toBeGreaterThan(0);
  });

  test('B51: an entry that is missing from an index gives wrong answers; verify says so', async () => {
    const damaged = Buffer.from(bytes);
    // The id of an event, inside of the index of ids: one letter, in a leaf of an index.
    const event = bytes.indexOf('run-7"');
    expect(event).toBeGreaterThan(0);
    const [leaf] = pagesOf(0x0a).filter((page) => bytes.indexOf('run-7', page * PAGE) < (page + 1) * PAGE);
    const at = bytes.indexOf('run-7', (leaf ?? 0) * PAGE);
    damaged.write('ruN-7', at);
    expect(['file_damaged', 'table_mismatch', 'table_extra_row']).toContain(await lookAt(damaged));
  });
});

describe.each(['custody', 'ouroboros'] as const)('a log in the %s dialect', (dialect) => {
  test('B20: cut at every byte of its last three lines, it keeps the lines before, tells what is gone, and goes on', async () => {
    const root = jsonlRoot(dialect);
    const ledger = await root.open();
    for (const run of ['run-1', 'run-2', 'run-3', 'run-4', 'run-5'])
      await ledger.append([started(run, 't-1')]);
    const { seq, hash } = await ledger.head();
    await ledger.close();
    const whole = readFileSync(root.log);
    const ends = [...whole.entries()].filter(([, byte]) => byte === 0x0a).map(([at]) => at + 1);
    const from = ends[1] ?? 0;
    const pristine = `${root.path}-pristine`;
    onTestFinished(() => rmSync(pristine, { recursive: true, force: true }));
    cpSync(root.path, pristine, { recursive: true });

    let cuts = 0;
    for (let size = from; size < whole.length; size += 1) {
      // Not every byte in every run, but each that stands beside a newline.
      const isNearEnd = ends.some((end) => Math.abs(end - size) <= 2);
      if (!isNearEnd && (size - from) % STRIDE !== 0) continue;
      rmSync(root.path, { recursive: true, force: true });
      cpSync(pristine, root.path, { recursive: true });
      writeFileSync(root.log, whole.subarray(0, size));
      const complete = ends.filter((end) => end <= size).length;

      const again = await openLedger(`jsonl:${root.path}?dialect=${dialect}`);
      const report = await again.verify({ rebuild: true, expectHead: { seq, hash } });
      const runs = (await collect(again.read({ type: 'run.started' }))).map(({ event }) => event['run_id']);
      await again.append([started('after', 't-1')]);
      const after = (await collect(again.read({ type: 'run.started' }))).map(({ event }) => event['run_id']);
      await again.close();

      const before = Array.from({ length: complete }, (_, index) => `run-${index + 1}`);
      // A line that only lacks its newline is whole once something ends it.
      const isWhole = ends.includes(size + 1);
      expect({ size, ok: report.ok, runs: runs.slice(0, complete) }).toEqual({
        size,
        ok: false,
        runs: before,
      });
      expect(report.problems[0]).toMatchObject({ code: 'truncated' });
      expect(after).toEqual([...before, ...(isWhole ? [`run-${complete + 1}`] : []), 'after']);
      expect(readFileSync(root.log).subarray(0, size).equals(whole.subarray(0, size))).toBe(true);
      cuts += 1;
    }
    expect(cuts).toBeGreaterThan((whole.length - from) / STRIDE - 1);
    countFigures('tamperings', [['cuts of a log', cuts]]);
    process.stdout.write(`cuts of a ${dialect} log: ${cuts}, no good line lost\n`);
  });
});
