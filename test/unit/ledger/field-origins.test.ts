import { fieldOrigins, openLedger } from '@custody/ledger';
import { expect, test } from 'vitest';
import { collect } from '../../support/collect.ts';
import { manualClock } from '../../support/manual-clock.ts';

test('each field of a managed row comes from the newest event that changed it, and freezes with the end of the task', async () => {
  const clock = manualClock();
  const ledger = await openLedger('memory:', { clock });
  await ledger.tasks.create({ taskId: 'other', title: 'Another one' });
  await ledger.tasks.create({ taskId: 'a', title: 'Draft' });
  clock.advance(1000);
  await ledger.tasks.assign({ taskId: 'a', assignee: 'alice' });
  await ledger.tasks.comment({ taskId: 'a', author: 'bob', body: 'hurry' });
  await ledger.append([{ type: 'x.note', task_id: 'a' }]);
  const origins = async () => {
    const events = (await collect(ledger.read())).map((item) => item.event);
    return fieldOrigins('a', events);
  };

  const open = await origins();
  await ledger.tasks.cancel({ taskId: 'a', reason: 'obsolete' });
  const ended = await origins();
  await ledger.tasks.archive({ taskId: 'a' });
  const archived = await origins();

  expect(open.get('title')).toEqual({ seq: 2, frozen: false });
  expect(open.get('assignee')).toEqual({ seq: 3, frozen: false });
  expect(open.get('updated_at')).toEqual({ seq: 3, frozen: false });
  expect(open.has('delegated_runs_started')).toBe(false);
  expect(ended.get('status')).toEqual({ seq: 6, frozen: true });
  expect(ended.get('title')).toEqual({ seq: 2, frozen: true });
  expect(ended.get('delegated_runs_started')).toEqual({ seq: 6, frozen: true });
  expect(ended.get('archived')).toEqual({ seq: 2, frozen: false });
  expect(archived.get('archived')).toEqual({ seq: 7, frozen: true });
  await ledger.close();
});

test('a task that no command created has no origins', () => {
  expect(fieldOrigins('a', []).size).toBe(0);
});
