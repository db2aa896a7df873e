import type { Ledger, NewEvent } from '@custody/ledger';
import { InvalidEventError } from '@custody/ledger';
import { describe, expect, it } from 'vitest';
import { requested, settled, started } from '../../support/events.ts';
import { snapshotOf } from './snapshot.ts';
import type { StoreKind } from './stores.ts';

const good = { type: 'run.started', run_id: 'run-1', task_id: 't-1' };

function nested(depth: number): unknown {
  return depth === 0 ? 'end' : [nested(depth - 1)];
}

/** What is handed in, the field that is named (null = the event itself), and words of the reason. */
const BAD_EVENTS: readonly (readonly [
  title: string,
  input: unknown,
  field: string | null,
  reason: RegExp,
])[] = [
  ['text', 'run.started', null, /JSON object/],
  ['null', null, null, /JSON object/],
  ['a list', [good], null, /JSON object/],
  ['a number', 17, null, /JSON object/],
  ['an event without a type', { run_id: 'run-1' }, 'type', /missing/],
  ['a type that is a number', { ...good, type: 1 }, 'type', /string/],
  ['an unknown type', { ...good, type: 'run.exploded' }, 'type', /unknown/],
  ['a type of the other dialect', { ...good, type: 'delegate_run_started' }, 'type', /unknown/],
  ['a type of Object’s own', { ...good, type: 'constructor' }, 'type', /unknown/],
  ['an extension without a name', { ...good, type: 'x.' }, 'type', /x\./],
  [
    'evidence that only the ledger writes',
    { type: 'custody.reconciled', task_id: 't-1', trigger: 'x' },
    'type',
    /ledger only/,
  ],
  [
    'an evidence list that only the ledger writes',
    { type: 'custody.unreconciled', task_id: 't-1', trigger: 'x', run_ids: [] },
    'type',
    /ledger only/,
  ],
  ['a checkpoint', { type: 'ledger.checkpoint' }, 'type', /ledger only/],
  ['a place of its own', { ...good, seq: 7 }, 'seq', /set by the ledger/],
  ['a hash of its own', { ...good, hash: 'f'.repeat(64) }, 'hash', /set by the ledger/],
  ['an epoch of its own', { ...good, epoch: 2 }, 'epoch', /set by the ledger/],
  [
    'a recording time of its own',
    { ...good, recorded_at: '2026-03-01T00:00:00Z' },
    'recorded_at',
    /set by the ledger/,
  ],
  ['an id that is a number', { ...good, id: 17 }, 'id', /number \(17\).*strings/],
  [
    'a run id that is a number',
    { ...good, run_id: 9_007_199_254_740_992 },
    'run_id',
    /number \(9007199254740992\)/,
  ],
  ['a task id that is null', { ...good, task_id: null }, 'task_id', /null/],
  ['an empty id', { ...good, id: '' }, 'id', /1 to 128/],
  ['an empty run id', { ...good, run_id: '' }, 'run_id', /1 to 128/],
  ['an empty task id', { ...good, task_id: '' }, 'task_id', /1 to 128/],
  ['an id of 129 characters', { ...good, id: 'i'.repeat(129) }, 'id', /1 to 128/],
  ['an id with a space', { ...good, task_id: 't 1' }, 'task_id', /1 to 128/],
  ['an id that climbs', { ...good, task_id: '../../t-1' }, 'task_id', /1 to 128/],
  ['a start without its task', { type: 'run.started', run_id: 'run-1' }, 'task_id', /missing/],
  ['a start without its run', { type: 'run.started', task_id: 't-1' }, 'run_id', /missing/],
  [
    'a request without its invocation',
    { type: 'run.start_requested', task_id: 't-1' },
    'invocation_id',
    /missing/,
  ],
  ['a settle without a state', { type: 'run.settled', run_id: 'run-1', task_id: 't-1' }, 'state', /state/],
  [
    'a settle in an unknown state',
    { ...settled('run-1'), state: 'evaporated', task_id: 't-1' },
    'state',
    /state/,
  ],
  [
    'a failure that doesn’t say whether it is definite',
    { type: 'run.start_failed', invocation_id: 'inv-1' },
    'definite',
    /definite/,
  ],
  [
    'a disposition that is unknown',
    { type: 'patch.disposed', run_id: 'run-1', disposition: 'eaten' },
    'disposition',
    /disposition/,
  ],
  ['an ownership flag that is text', { ...good, project_owned: 'yes' }, 'project_owned', /project_owned/],
  ['a time that is none', { ...good, at: 'yesterday' }, 'at', /ISO 8601/],
  ['a day that is none', { ...good, at: '2026-02-30T00:00:00Z' }, 'at', /ISO 8601/],
  ['a time without a zone', { ...good, at: '2026-03-01T00:00:00' }, 'at', /ISO 8601/],
  ['a lone surrogate', { ...good, note: 'a\ud800b' }, 'note', /lone surrogate/],
  ['a lone surrogate in a key', { ...good, deep: { 'a\udfff': 1 } }, 'deep.a\udfff', /lone surrogate/],
  ['a NUL character', { ...good, list: ['ok', 'a\u0000b'] }, 'list.1', /NUL/],
  [
    'a __proto__ key',
    JSON.parse('{"type":"run.started","run_id":"run-1","task_id":"t-1","deep":{"__proto__":{"admin":true}}}'),
    'deep.__proto__',
    /reserved key/,
  ],
  [
    'a __proto__ key at the top',
    JSON.parse('{"type":"run.started","run_id":"run-1","task_id":"t-1","__proto__":1}'),
    '__proto__',
    /reserved key/,
  ],
  ['an infinite number', { ...good, cost: Number.POSITIVE_INFINITY }, 'cost', /finite/],
  ['a number that is none', { ...good, deep: [{ cost: Number.NaN }] }, 'deep.0.cost', /finite/],
  ['a big integer', { ...good, big: 10n }, 'big', /bigint/],
  ['a function', { ...good, call: () => 1 }, 'call', /function/],
  ['an object that is no JSON', { ...good, when: new Date(0) }, 'when', /JSON/],
  ['a map', { ...good, deep: { facts: new Map([['a', 1]]) } }, 'deep.facts', /JSON/],
  ['a hole in a list', { ...good, list: [1, undefined] }, 'list.1', /undefined|JSON/],
  [
    'a value that is nested too deep',
    { ...good, deep: nested(200) },
    expect.stringMatching(/^deep\.0\.0/) as unknown as string,
    /deeper than 100/,
  ],
];

/** P14: bad input is refused with its place and reason, and changes nothing. */
export function describeBadInput(store: StoreKind): void {
  async function openWithHistory(): Promise<Ledger> {
    const { ledger } = await store.open();
    await ledger.append([started('run-0', 't-0'), settled('run-0'), requested('inv-0', 't-0')]);
    return ledger;
  }

  describe(`bad input to ${store.name}`, () => {
    it.each(BAD_EVENTS)(
      'P14: refuses %s, naming field and reason, and changes nothing',
      async (_title, input, field, reason) => {
        const ledger = await openWithHistory();
        const before = await snapshotOf(ledger);

        const refused = await ledger
          .append([started('run-2', 't-2'), input as NewEvent])
          .catch((error: unknown) => error);

        expect(refused).toBeInstanceOf(InvalidEventError);
        expect(refused).toMatchObject({ code: 'invalid_event', field, index: 1, facts: { field, index: 1 } });
        expect((refused as Error).message).toMatch(reason);
        expect(await snapshotOf(ledger)).toEqual(before);
      },
    );

    it('P14: refuses an event over 1 MiB and takes one just below', async () => {
      const ledger = await openWithHistory();
      const before = await snapshotOf(ledger);

      // Three bytes a character, so that a count of characters would let it pass.
      const refused = ledger.append([started('run-1', 't-1', { note: '€'.repeat(350_000) })]);

      await expect(refused).rejects.toMatchObject({
        code: 'event_too_large',
        index: 0,
        facts: { limit: 1_048_576 },
      });
      expect(await snapshotOf(ledger)).toEqual(before);
      expect(await ledger.append([started('run-1', 't-1', { note: 'x'.repeat(1_040_000) })])).toMatchObject({
        appended: 1,
      });
    });

    it('P14: refuses an end before its start when no task is named, and takes it when one is', async () => {
      const ledger = await openWithHistory();
      const before = await snapshotOf(ledger);

      for (const end of [settled('run-9'), { type: 'run.closed_absent', run_id: 'run-9' }]) {
        await expect(ledger.append([end])).rejects.toMatchObject({
          code: 'invalid_event',
          field: 'task_id',
          index: 0,
        });
        // The start comes after it in the same batch: still too late.
        await expect(ledger.append([end, started('run-9', 't-9')])).rejects.toMatchObject({
          field: 'task_id',
        });
      }

      expect(await snapshotOf(ledger)).toEqual(before);
      expect(await ledger.append([settled('run-9', { task_id: 't-9' })])).toMatchObject({ appended: 1 });
      expect(await ledger.append([started('run-8', 't-8'), settled('run-8')])).toMatchObject({ appended: 2 });
    });

    it('takes an id of 128 characters, an empty run id of a request, and times with any offset', async () => {
      const ledger = await openWithHistory();

      const taken = await ledger.append([
        started(`r${'-'.repeat(127)}`, `t:${'_'.repeat(126)}`, { at: '2026-03-01T05:30:00.1234+05:30' }),
        requested('inv-1', 't-1', { run_id: '' }),
      ]);

      expect(taken.appended).toBe(2);
      expect((await ledger.custody.run(`r${'-'.repeat(127)}`))?.started_at).toBe('2026-03-01T00:00:00.123Z');
    });
  });
}
