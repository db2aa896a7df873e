import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { LineEvent } from '../../../packages/ledger/src/core/dialect.ts';
import { readLine, toGivenEvent, toLine, toPlacedEvent } from '../../../packages/ledger/src/core/dialect.ts';
import { findLimitFault } from '../../../packages/ledger/src/core/event-limits.ts';
import {
  EVENT_TYPES,
  typeFromOuroboros,
  typeToOuroboros,
} from '../../../packages/ledger/src/core/event-types.ts';
import type { NewEvent, RecordedEvent } from '../../../packages/ledger/src/core/recorded-event.ts';

const AT = '2026-03-01T00:00:00.000Z';
const PLACE = { seq: 7, id: 'l1', hash: 'f'.repeat(64), epoch: 1, previousAt: AT };

function eventIn(text: string): LineEvent {
  const reading = readLine(text);
  if (reading.kind !== 'event') throw new Error(`${text} is ${reading.kind}`);
  return reading.event;
}

function read(row: object): LineEvent {
  return eventIn(JSON.stringify(row));
}

const KEYS = fc.oneof(
  fc.constantFrom(
    'ts',
    'x.ts',
    'x.x.ts',
    'note',
    'state',
    'x.seq',
    'x.id',
    'role',
    '',
    'constructor',
    'toString',
  ),
  fc
    .string({ maxLength: 8 })
    .filter(
      (key) =>
        ![
          'id',
          'type',
          'at',
          'task_id',
          'run_id',
          'seq',
          'recorded_at',
          'epoch',
          'hash',
          '__proto__',
        ].includes(key),
    ),
);

/** Payloads that an append accepts: what JSON holds, without what readers disagree about. */
const payload = fc
  .dictionary(KEYS, fc.jsonValue({ maxDepth: 3 }))
  .filter((value) => findLimitFault(value) === null);

const types = fc.constantFrom(
  ...Object.keys(EVENT_TYPES),
  'x.note',
  'x.delegate_run_started',
  'x.delegate_run_novel',
  'x.delegated_runs_unreconciled',
);

const events = fc
  .record({
    type: types,
    payload,
    task: fc.option(fc.constantFrom('t-1', 'T.2')),
    run: fc.option(fc.constantFrom('run-1', 'r:2')),
  })
  .map(
    ({ type, payload: fields, task, run }): RecordedEvent => ({
      ...fields,
      ...(task === null ? {} : { task_id: task }),
      ...(run === null ? {} : { run_id: run }),
      seq: 7,
      id: 'id-1',
      type,
      at: AT,
      recorded_at: '2026-03-01T00:00:01.000Z',
      epoch: 1,
      hash: 'f'.repeat(64),
    }),
  );

/** JSON has no negative zero. */
function plain<T>(value: T): T {
  return JSON.parse(JSON.stringify(value)) as T;
}

describe('an event on its way through a line', () => {
  it('comes back as it was from the custody dialect', () => {
    fc.assert(
      fc.property(events, (event) => {
        const line = eventIn(toLine(event, 'custody', true));

        expect(line.id).toBe('id-1');
        expect(plain(toPlacedEvent(line, { ...PLACE, id: 'id-1' }).event)).toEqual(plain(event));
      }),
    );
  });

  it('comes back from the ouroboros dialect with all but the time at which it was recorded', () => {
    fc.assert(
      fc.property(events, fc.boolean(), (event, hasOwnId) => {
        const line = eventIn(toLine(event, 'ouroboros', hasOwnId));

        expect(line.id).toBe(hasOwnId ? 'id-1' : null);
        expect(plain(toPlacedEvent(line, { ...PLACE, id: 'id-1' }).event)).toEqual(
          plain({ ...event, recorded_at: AT }),
        );
      }),
    );
  });

  it('is one line, whatever its texts hold', () => {
    fc.assert(
      fc.property(
        events,
        (event) =>
          !toLine(event, 'custody', true).includes('\n') && !toLine(event, 'ouroboros', true).includes('\n'),
      ),
    );
  });
});

describe('the names of types', () => {
  it('map one to one in both directions', () => {
    for (const [type, name] of Object.entries(EVENT_TYPES)) {
      expect(typeToOuroboros(type)).toBe(name);
      expect(typeFromOuroboros(name)).toBe(type);
    }
    expect(typeFromOuroboros('delegate_run_novel')).toBe('x.delegate_run_novel');
    expect(typeToOuroboros('x.delegate_run_novel')).toBe('delegate_run_novel');
  });

  it('never turn a user’s type into a real one', () => {
    for (const name of ['delegate_run_started', 'delegate_run_settled']) {
      expect(typeToOuroboros(`x.${name}`)).toBe(`x.${name}`);
      expect(read({ ts: AT, type: typeToOuroboros(`x.${name}`) }).type).toBe(`x.${name}`);
    }
  });
});

describe('a foreign row', () => {
  it('has its time under ts or at, and says so when it has none', () => {
    expect(read({ type: 'delegate_run_started', ts: '2026-03-01T02:19:05.946001+01:00' }).at).toBe(
      '2026-03-01T01:19:05.946Z',
    );
    expect(read({ type: 'delegate_run_started', at: AT }).at).toBe(AT);
    expect(read({ type: 'run.started', ts: AT })).toMatchObject({ at: AT, given: {} });
    expect(read({ type: 'delegate_run_started', ts: 1_772_300_000 })).toMatchObject({
      at: null,
      given: { ts: 1_772_300_000 },
    });
    const placed = toPlacedEvent(read({ type: 'delegate_run_started', ts: 'yesterday' }), {
      ...PLACE,
      previousAt: '2026-02-01T00:00:00.000Z',
    });
    expect(placed.event).toMatchObject({
      at: '2026-02-01T00:00:00.000Z',
      recorded_at: '2026-02-01T00:00:00.000Z',
      ts: 'yesterday',
    });
  });

  it('ruling 1: has an id only if it is a string', () => {
    const event = read({ type: 'delegate_run_started', ts: AT, run_id: 1e20, task_id: 7, id: 3 });

    expect(event.id).toBeNull();
    expect(event.given).toEqual({ 'x.run_id': 1e20, 'x.task_id': 7, 'x.id': 3 });
  });

  it('can’t claim what the ledger sets itself', () => {
    const event = read({
      type: 'delegate_run_started',
      ts: AT,
      at: AT,
      seq: 1,
      hash: 'h',
      epoch: 9,
      recorded_at: AT,
      'x.seq': 2,
    });

    expect(event.given).toEqual({
      'x.at': AT,
      'x.x.seq': 1,
      'x.hash': 'h',
      'x.epoch': 9,
      'x.recorded_at': AT,
      'x.seq': 2,
    });
    expect(event.recorded_at).toBeNull();
  });

  it('of an unknown custody type is kept under x., one of another subsystem is noise', () => {
    expect(read({ type: 'delegate_run_output_teleported', ts: AT }).type).toBe(
      'x.delegate_run_output_teleported',
    );
    expect(read({ type: 'run.teleported', id: 'e-1', at: AT, recorded_at: AT })).toMatchObject({
      type: 'x.run.teleported',
      dialect: 'custody',
    });
    expect(read({ type: 'delegate_running', ts: AT }).type).toBe('x.delegate_running');
    for (const row of [
      { type: 'run.teleported', at: AT },
      { type: 'my_delegate_run_started' },
      { type: ['delegate_run_started'] },
      { kind: 'run.started' },
      ['run.started'],
      'run.started',
      7,
      null,
    ]) {
      expect(readLine(JSON.stringify(row)).kind).toBe('noise');
    }
  });

  it('that is no JSON is torn, and a blank one is nothing', () => {
    for (const text of ['{"ts":"2026', '{"type":"delegate_run_started"}{"type":"x"}', 'NaN', '\uFEFF{}'])
      expect(readLine(text)).toEqual({ kind: 'torn' });
    for (const text of ['', '   ', '\r', '{}', '{"type":"run.started"}\r'])
      expect(readLine(text).kind).not.toBe('torn');
  });

  it('is made safe to keep where readers would disagree', () => {
    const deep = `${'['.repeat(300)}${']'.repeat(300)}`;
    const event = eventIn(
      `{"type":"delegate_run_started","ts":"${AT}","run_id":"a\\ud800","__proto__":{"x":1},"nested":{"__proto__":1,"\\u0000":"\\u0000"},"cost":1e999,"deep":${deep}}`,
    );

    expect(findLimitFault(event.given)).toBeNull();
    expect(event.given).toMatchObject({
      run_id: 'a\uFFFD',
      'x.__proto__': { x: 1 },
      nested: { 'x.__proto__': 1, '\uFFFD': '\uFFFD' },
      cost: null,
    });
    expect(Object.getPrototypeOf(event.given)).toBe(Object.prototype);
  });

  it('is told to an append as its writer would have told it', () => {
    const given: NewEvent = toGivenEvent(
      read({ ts: AT, type: 'delegate_run_settled', run_id: 'r', task_id: 't', state: 'failed', id: 'e-1' }),
    );

    expect(given).toEqual({
      id: 'e-1',
      type: 'run.settled',
      at: AT,
      run_id: 'r',
      task_id: 't',
      state: 'failed',
    });
  });
});
