import { createHash } from 'node:crypto';
import type { NewEvent, StoredEvent } from '@custody/ledger';
import { InvalidEventError, isId, splitPrintedLine, toPrintedLine } from '@custody/ledger';
import { describe, expect, it } from 'vitest';
import { collect } from '../support/collect.ts';
import { event, requested, settled, started } from '../support/events.ts';
import { manualClock } from '../support/manual-clock.ts';
import type { StoreKind } from './stores.ts';

const seqsOf = (stored: readonly StoredEvent[]) => stored.map((item) => item.event.seq);
const upTo = (count: number) => Array.from({ length: count }, (_, index) => index + 1);

/** A ledger whose hashes cover what it prints can be checked by anyone. */
export function describePrintedChain(store: StoreKind): void {
  describe(`the chain of ${store.name}`, () => {
    it('can be checked from its printed lines with sha256 alone', async () => {
      const { ledger } = await store.open();
      await ledger.append([started('run-1', 't-1', { x_text: 'ü€𝄞 "quoted" \u2028' }), settled('run-1')]);
      await ledger.append([requested('inv-1', 't-2')]);

      const lines = (await collect(ledger.read())).map((item) => toPrintedLine(item.text, item.event.hash));

      let previous = '0'.repeat(64);
      for (const line of lines) {
        const { hash } = JSON.parse(line) as { hash: string };
        const covered = line.replace(`,"hash":"${hash}"}`, '}');
        expect(createHash('sha256').update(previous).update(covered, 'utf8').digest('hex')).toBe(hash);
        expect(splitPrintedLine(line)).toEqual({ text: covered, hash });
        previous = hash;
      }
      expect(lines).toHaveLength(3);
      expect((await ledger.head()).hash).toBe(previous);
    });
  });
}

/** What every log does: takes events once, orders and chains them, and gives them back. */
export function describeEventStore(store: StoreKind): void {
  describe(`appending to ${store.name}`, () => {
    it('numbers events 1, 2, 3 and adds what the ledger knows', async () => {
      const { ledger } = await store.open({ clock: manualClock('2026-03-01T02:00:00.000Z') });

      const result = await ledger.append([
        started('run-1', 't-1', { at: '2026-03-01T01:00:00+01:00', x_note: 'kept' }),
        settled('run-1'),
      ]);

      expect(result).toMatchObject({ appended: 2, duplicates: 0, first_seq: 1, last_seq: 2 });
      const [first, second] = await collect(ledger.read());
      expect(first?.event).toMatchObject({
        seq: 1,
        type: 'run.started',
        at: '2026-03-01T00:00:00.000Z',
        recorded_at: store.keepsRecordingTime ? '2026-03-01T02:00:00.000Z' : '2026-03-01T00:00:00.000Z',
        epoch: 1,
        x_note: 'kept',
      });
      expect(second?.event).toMatchObject({ seq: 2, at: '2026-03-01T02:00:00.000Z', task_id: 't-1' });
      expect([first?.event.id, second?.event.id]).toEqual(result.events.map((item) => item.id));
      expect(first?.event.id).not.toBe(second?.event.id);
      expect(second?.event.id).toSatisfy(isId);
    });

    it('counts the same event under a known id as a duplicate, the order of keys ignored', async () => {
      const { ledger } = await store.open();
      const first = { ...started('run-1', 't-1', { resource_ref: { a: 1, b: [1, 2] } }), id: 'e-1' };
      await ledger.append([first]);
      await ledger.append([settled('run-1')]);

      const again = await ledger.append([
        { resource_ref: { b: [1, 2], a: 1 }, id: 'e-1', ...started('run-1', 't-1') },
        requested('inv-1', 't-1'),
      ]);

      expect(again).toMatchObject({ appended: 1, duplicates: 1, first_seq: 3, last_seq: 3 });
      expect(again.events).toEqual([
        { id: 'e-1', seq: 1, duplicate: true },
        { id: expect.any(String), seq: 3, duplicate: false },
      ]);
      expect(await ledger.head()).toMatchObject({ seq: 3 });
    });

    it('takes an event without its task or time as the one that the ledger completed', async () => {
      const { ledger } = await store.open({ clock: manualClock() });
      await ledger.append([started('run-1', 't-1')]);
      await ledger.append([{ ...settled('run-1'), id: 'e-2' }]);

      expect(await ledger.append([{ ...settled('run-1'), id: 'e-2' }])).toMatchObject({ duplicates: 1 });
      expect(await ledger.append([{ ...settled('run-1'), id: 'e-2', task_id: 't-1' }])).toMatchObject({
        duplicates: 1,
      });
      expect(await ledger.head()).toMatchObject({ seq: 2 });
    });

    it.each([
      ['another value', started('run-1', 't-1', { model: 'b' })],
      ['one field more', started('run-1', 't-1', { model: 'a', route: 'claude', effort: 'low' })],
      ['one field less', started('run-1', 't-1')],
      ['another type', event('output.left_unread', { run_id: 'run-1', task_id: 't-1' })],
    ])('refuses a known id with %s, and writes nothing of its batch', async (_case, other) => {
      const { ledger } = await store.open();
      await ledger.append([{ ...started('run-1', 't-1', { model: 'a' }), id: 'e-1' }]);
      const before = await ledger.head();

      const refused = ledger.append([started('run-2', 't-1'), { ...other, id: 'e-1' }]);

      await expect(refused).rejects.toMatchObject({ code: 'event_id_conflict', field: 'id', index: 1 });
      expect(await ledger.head()).toEqual(before);
      expect(await ledger.custody.run('run-2')).toBeNull();
    });

    it('knows an id again within one batch', async () => {
      const { ledger } = await store.open();
      const one = { ...started('run-1', 't-1'), id: 'e-1' };

      expect(await ledger.append([one, one])).toMatchObject({ appended: 1, duplicates: 1 });
      await expect(
        ledger.append([
          { ...settled('run-1'), id: 'e-2' },
          { ...settled('run-1', { state: 'failed' }), id: 'e-2' },
        ]),
      ).rejects.toMatchObject({ code: 'event_id_conflict', index: 1 });
      expect(await ledger.head()).toMatchObject({ seq: 1 });
    });

    it('writes an event twice that is handed in twice without an id', async () => {
      const { ledger } = await store.open({ clock: manualClock() });
      const note = event('x.note', { task_id: 't-1' });

      const results = [await ledger.append([note, note]), await ledger.append([note])];

      expect(results.map((result) => result.appended)).toEqual([2, 1]);
      const ids = (await collect(ledger.read())).map((item) => item.event.id);
      expect(new Set(ids).size).toBe(3);
    });

    it('writes nothing for an empty batch', async () => {
      const { ledger } = await store.open();

      expect(await ledger.append([])).toEqual({
        appended: 0,
        duplicates: 0,
        first_seq: null,
        last_seq: null,
        events: [],
      });
      expect(await ledger.head()).toMatchObject({ seq: 0, hash: '0'.repeat(64) });
    });

    it('keeps a custody type of its users under x. and folds nothing of it', async () => {
      const { ledger } = await store.open();

      await ledger.append([
        event('x.my.note', { run_id: 'run-1', task_id: 't-1', any: { thing: [1, null] } }),
      ]);

      expect((await collect(ledger.read()))[0]?.event).toMatchObject({ any: { thing: [1, null] } });
      expect(await ledger.custody.run('run-1')).toBeNull();
    });
  });

  describe(`group commit on ${store.name}`, () => {
    it('one refused request doesn’t hinder the others of its commit', async () => {
      const { ledger } = await store.open();
      await ledger.append([{ ...started('run-0', 't-0'), id: 'e-0' }]);

      const answers = await Promise.allSettled([
        ledger.append([started('run-1', 't-1')]),
        ledger.append([started('run-2', 't-2'), { ...started('run-x', 't-x'), id: 'e-0' }]),
        ledger.append([settled('run-unknown')]),
        ledger.append([settled('run-1'), started('run-3', 't-3')]),
      ]);

      expect(answers.map((answer) => answer.status)).toEqual([
        'fulfilled',
        'rejected',
        'rejected',
        'fulfilled',
      ]);
      expect(answers[1]).toMatchObject({ reason: { code: 'event_id_conflict', index: 1 } });
      expect(answers[2]).toMatchObject({ reason: { code: 'invalid_event', field: 'task_id', index: 0 } });
      expect(answers[2]).toHaveProperty('reason', expect.any(InvalidEventError));
      const events = await collect(ledger.read());
      expect(events.map((item) => item.event['run_id'])).toEqual(['run-0', 'run-1', 'run-1', 'run-3']);
      expect(seqsOf(events)).toEqual(upTo(4));
      expect(await ledger.verify({ rebuild: true })).toMatchObject({ ok: true });
    });

    it('answers a repeat in the same commit as a duplicate, and a conflict as one', async () => {
      const { ledger } = await store.open();

      const [first, again, other] = await Promise.allSettled([
        ledger.append([{ ...started('run-1', 't-1'), id: 'e-1' }]),
        ledger.append([{ ...started('run-1', 't-1'), id: 'e-1' }]),
        ledger.append([{ ...started('run-1', 't-2'), id: 'e-1' }]),
      ]);

      expect(first).toMatchObject({ value: { appended: 1 } });
      expect(again).toMatchObject({ value: { appended: 0, duplicates: 1 } });
      expect(other).toMatchObject({ reason: { code: 'event_id_conflict' } });
    });

    it('keeps the order of many appends that wait together', async () => {
      const { ledger } = await store.open();
      const runs = upTo(300).map((index) => `run-${index}`);

      const answers = await Promise.all(
        runs.map((run) => ledger.append([started(run, 't-1'), settled(run)])),
      );

      expect(answers.map((answer) => answer.first_seq)).toEqual(runs.map((_, index) => index * 2 + 1));
      expect(seqsOf(await collect(ledger.read()))).toEqual(upTo(600));
    });
  });

  describe(`the chain of ${store.name}`, () => {
    it('is verified whole, and held against a head that is known from elsewhere', async () => {
      const { ledger } = await store.open();
      await ledger.append([started('run-1', 't-1'), settled('run-1')]);
      const { seq, hash } = await ledger.head();
      await ledger.append([started('run-2', 't-1')]);

      const report = await ledger.verify({ rebuild: true, expectHead: { seq, hash } });

      expect(report).toMatchObject({ ok: true, events: 3, head_seq: 3, problems: [] });
      const codesFor = async (expectHead: { seq: number; hash: string }) =>
        (await ledger.verify({ expectHead })).problems.map((problem) => problem.code);
      expect(await codesFor({ seq: 4, hash })).toEqual(['truncated']);
      expect(await codesFor({ seq, hash: 'f'.repeat(64) })).toEqual(['head_not_in_chain']);
    });

    it('V13: notes a later verdict that differs, and calls it no fault', async () => {
      const { ledger } = await store.open();
      await ledger.append([started('run-1', 't-1'), settled('run-1'), settled('run-1', { state: 'failed' })]);

      const report = await ledger.verify({ rebuild: true });

      expect(report).toMatchObject({
        ok: true,
        notes: [{ code: 'conflicting_verdicts', task_id: 't-1', message: expect.stringContaining('run-1') }],
      });
    });
  });

  describe(`reading ${store.name}`, () => {
    const history: readonly NewEvent[] = [
      started('run-1', 't-1'),
      requested('inv-1', 't-2'),
      started('run-2', 't-2', { invocation_id: 'inv-1' }),
      settled('run-1'),
      settled('run-2'),
      event('patch.captured', { run_id: 'run-2' }),
    ];

    it.each([
      ['everything', {}, [1, 2, 3, 4, 5, 6]],
      ['after a place', { after: 4 }, [5, 6]],
      ['up to a place', { upTo: 2 }, [1, 2]],
      ['between two places', { after: 1, upTo: 3 }, [2, 3]],
      ['of a task', { taskId: 't-2' }, [2, 3, 5, 6]],
      ['of a run', { runId: 'run-1' }, [1, 4]],
      ['of a type', { type: 'run.settled' }, [4, 5]],
      ['of a task and a type, after a place', { taskId: 't-2', type: 'run.settled', after: 4 }, [5]],
      ['some', { limit: 2 }, [1, 2]],
      ['some of a task', { taskId: 't-2', limit: 2, after: 2 }, [3, 5]],
      ['none', { limit: 0 }, []],
      ['of a task that is unknown', { taskId: 't-9' }, []],
      ['after the end', { after: 99 }, []],
    ])('gives %s', async (_case, query, seqs) => {
      const { ledger } = await store.open();
      await ledger.append(history);

      expect(seqsOf(await collect(ledger.read(query)))).toEqual(seqs);
    });

    it('goes on over many pages while others append, and skips or repeats nothing', async () => {
      const { ledger } = await store.open();
      await ledger.append(upTo(2500).map((index) => started(`run-${index}`, 't-1')));

      const seen: number[] = [];
      for await (const item of ledger.read()) {
        seen.push(item.event.seq);
        if (seen.length % 500 === 0 && seen.length <= 2500)
          await ledger.append([settled(`run-${seen.length}`)]);
      }

      // What is appended while the last page is read may or may not be seen.
      expect(seen.length).toBeGreaterThanOrEqual(2504);
      expect(seen).toEqual(upTo(seen.length));
    });
  });
}
