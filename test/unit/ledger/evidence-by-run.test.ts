import { CustodyFold } from '@custody/ledger';
import fc from 'fast-check';
import { expect, it } from 'vitest';
import { recorded } from '../../support/fold.ts';

const anyRow = fc.record({
  type: fc.constantFrom('run.started', 'run.settled', 'run.closed_absent'),
  task_id: fc.constantFrom('t-1', 't-2', 't-3'),
  run_id: fc.constantFrom('r-1', 'r-2'),
  state: fc.constantFrom('succeeded', 'failed', ''),
});

it('evidence of a run is kept apart for each task whose rows speak of it', () => {
  fc.assert(
    fc.property(fc.array(anyRow, { maxLength: 20 }), (rows) => {
      const events = recorded(rows);
      const fold = new CustodyFold();
      for (const event of events) fold.apply(event);

      const pairs = new Set(rows.map((row) => `${row.task_id}\u0000${row.run_id}`));
      expect(new Set([...fold.evidence].map(([key]) => key))).toEqual(pairs);
      expect([...fold.evidence.values()]).toHaveLength(pairs.size);
      for (const [key, item] of fold.evidence) {
        // Rows of other pairs change nothing of what this pair's own rows say.
        const alone = new CustodyFold();
        for (const event of events)
          if (`${String(event['task_id'])}\u0000${String(event['run_id'])}` === key) alone.apply(event);
        expect(fold.evidence.get(item.task_id, item.run_id)).toEqual(item);
        expect([...alone.evidence.values()]).toEqual([item]);
      }
    }),
  );
});
