import { describe, expect, test } from 'vitest';
import {
  conflictName,
  identitiesOf,
  isPendingName,
  journalRecord,
  pendingName,
  readJournal,
} from '../../../packages/ledger/src/core/managed/journal.ts';

const record = journalRecord({
  task_id: 't-1',
  run_id: 'run-1',
  result: { b: 1, a: [2] },
  summary: 's',
  metadata: null,
  structured: { status: 'completed' },
  created_at: '2026-03-01T00:00:00.000Z',
});

const bytesOf = (value: unknown) => new TextEncoder().encode(JSON.stringify(value));

describe('names of journals', () => {
  test('tell task and run, and come back', () => {
    const name = pendingName('t-1', 'run-1');

    expect(name).toBe('t-1.run-run-1.terminal.pending.json');
    expect(isPendingName(name)).toBe(true);
    expect(identitiesOf(name)).toEqual([{ taskId: 't-1', runId: 'run-1' }]);
  });

  test('are ambiguous when an id holds the separator, and every reading is told', () => {
    expect(identitiesOf(pendingName('a.run-b', 'c'))).toEqual([
      { taskId: 'a', runId: 'b.run-c' },
      { taskId: 'a.run-b', runId: 'c' },
    ]);
  });

  test('of the longest ids fit a file system, and differ', () => {
    const long = 'x'.repeat(128);

    expect(pendingName(long, long).length).toBeLessThanOrEqual(200);
    expect(pendingName(long, `${'x'.repeat(127)}y`)).not.toBe(pendingName(long, long));
    const conflict = conflictName(pendingName(long, long), {
      at: record.created_at,
      content: 'x',
      attempt: 12,
    });
    expect(conflict.length).toBeLessThan(255);
  });

  test('of conflict files never collide while one counts up', () => {
    const at = (attempt: number) =>
      conflictName('t.run-r.terminal.pending.json', { at: record.created_at, content: 'x', attempt });

    expect(at(0)).toMatch(/^t\.run-r\.terminal\.conflict-20260301T000000000Z-[0-9a-f]{8}\.json$/);
    expect(new Set([at(0), at(1), at(2)]).size).toBe(3);
    expect(isPendingName(at(0))).toBe(false);
  });

  test.each(['.t.run-r.terminal.pending.json', 'notes.txt', 't.json'])('%s is no journal', (name) => {
    expect(isPendingName(name)).toBe(false);
  });
});

describe('reading a journal', () => {
  const name = pendingName('t-1', 'run-1');

  test('gives what was written', () => {
    expect(readJournal(name, bytesOf(record))).toEqual(record);
  });

  test.each([
    ['a torn text', new TextEncoder().encode('{"schema_version":1,')],
    ['bytes that are no UTF-8', Uint8Array.from([0xff, 0xfe])],
    ['a list', bytesOf([record])],
    ['a changed result', bytesOf({ ...record, result: 'other' })],
    ['a changed hash', bytesOf({ ...record, content_hash: '0' })],
    ['another version', bytesOf({ ...record, schema_version: 2 })],
    ['another run than its name', bytesOf(journalRecord({ ...record, run_id: 'run-2' }))],
    ['a blank run', bytesOf({ ...record, run_id: '' })],
  ])('refuses %s', (_case, bytes) => {
    expect(readJournal(name, bytes)).toBeNull();
  });

  test('knows a result by its meaning, whenever it was written', () => {
    const again = journalRecord({
      ...record,
      result: { a: [2], b: 1 },
      created_at: '2027-01-01T00:00:00.000Z',
    });

    expect(again.content_hash).toBe(record.content_hash);
  });
});
