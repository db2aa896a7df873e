import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { CustodyFold, foldLog } from '@custody/ledger';
import fc from 'fast-check';
import { expect, it } from 'vitest';
import { readLine, toPlacedEvent } from '../../../packages/ledger/src/core/dialect.ts';

const TYPES = [
  'delegate_run_start_requested',
  'delegate_run_started',
  'delegate_run_settled',
  'run.started',
  'run.settled',
  'run.start_requested',
  'containment.fault',
  'llm_usage',
];

const oddValue = fc.constantFrom<unknown>('a', '', 'ü\u2028', '\u0000', 7, null, { ts: 1 }, 'r-2');

/** Rows with the envelope's keys in places where they mean something else, and text beyond ASCII. */
const anyRow = fc
  .record({
    type: fc.constantFrom(...TYPES),
    run_id: fc.constantFrom<unknown>('r-1', 'r-2', 7),
    task_id: fc.constantFrom<unknown>('t-1', 't-ü', null),
    invocation_id: fc.constantFrom('i-1', ''),
    time: fc.constantFrom(
      { ts: '2026-03-01T00:00:01Z' },
      { at: '2026-03-01T00:00:02.000Z' },
      { ts: 'never' },
      {},
    ),
    odd: fc.dictionary(
      fc.constantFrom(
        'seq',
        'recorded_at',
        'epoch',
        'hash',
        'id',
        'x.ts',
        'x.seq',
        'ts',
        'model',
        'state',
        'role',
      ),
      oddValue,
      { maxKeys: 4 },
    ),
  })
  .map(({ time, odd, ...row }) => ({ ...odd, ...row, ...time }));

function partsOf(fold: CustodyFold): unknown {
  const { runs, invocations, evidence, tasks, containment } = fold;
  return [runs, invocations, evidence, tasks, containment].map((records) => [...records]);
}

it('the fold of a log is the fold of its lines read in full', () => {
  const root = mkdtempSync(join(tmpdir(), 'fold-log-'));
  mkdirSync(join(root, 'logs'));
  try {
    fc.assert(
      fc.property(fc.array(anyRow, { maxLength: 12 }), (rows) => {
        const lines = rows.map((row) => JSON.stringify(row));
        writeFileSync(join(root, 'logs', 'events.jsonl'), lines.map((line) => `${line}\n`).join(''));
        const expected = new CustodyFold();
        const seen = new Set<string>();
        let seq = 0;
        let previousAt = '1970-01-01T00:00:00.000Z';
        for (const line of lines) {
          const reading = readLine(line);
          if (reading.kind !== 'event') continue;
          const { id, dialect } = reading.event;
          if (id !== null && dialect === 'custody' && seen.has(id)) continue;
          if (id !== null && dialect === 'custody') seen.add(id);
          seq += 1;
          const event = toPlacedEvent(reading.event, { seq, id: `e-${seq}`, hash: '', epoch: 0, previousAt });
          previousAt = event.event.at;
          expected.apply(event.event);
        }
        const folded = foldLog(root);
        expect(folded.events).toBe(seq);
        expect(partsOf(folded.fold)).toEqual(partsOf(expected));
      }),
      { numRuns: 300 },
    );
  } finally {
    rmSync(root, { recursive: true });
  }
});
