import type { JsonObject } from '@custody/ledger';
import {
  CustodyFold,
  invocationState,
  isPersistentInvocation,
  openRunIds,
  pendingInvocationIds,
} from '@custody/ledger';
import { describe, expect, it } from 'vitest';
import { event, requested, started } from '../../support/events.ts';
import { custodyOf, foldOf, recorded } from '../../support/fold.ts';

const failed = (definite: unknown) =>
  ({ type: 'run.start_failed', invocation_id: 'inv-1', task_id: 't-1', definite }) as JsonObject;
const boundStart = started('run-1', 't-1', { invocation_id: 'inv-1' });

function stateOf(events: readonly JsonObject[]) {
  const invocation = foldOf(events).invocations.get('inv-1');
  return invocation === undefined ? 'unknown' : invocationState(invocation);
}

describe('an invocation', () => {
  it('is pending from its request until a run starts or the start definitely failed', () => {
    expect(stateOf([requested('inv-1', 't-1')])).toBe('pending');
    expect(stateOf([requested('inv-1', 't-1'), boundStart])).toBe('started');
    expect(stateOf([requested('inv-1', 't-1'), failed(true)])).toBe('failed_definite');
  });

  it.each([[false], ['true'], [1], [null], [undefined]])(
    'stays pending after a failure that is definite: %j',
    (definite) => {
      expect(stateOf([requested('inv-1', 't-1'), failed(definite)])).toBe('pending');
    },
  );

  it('I14: is started when the start comes after a definite failure, and stays so', () => {
    expect(stateOf([requested('inv-1', 't-1'), failed(true), boundStart])).toBe('started');
    expect(stateOf([requested('inv-1', 't-1'), boundStart, failed(true)])).toBe('started');
  });

  it('is closed by a start or a failure that overtook its request', () => {
    expect(stateOf([boundStart, requested('inv-1', 't-1')])).toBe('started');
    expect(stateOf([failed(true), requested('inv-1', 't-1')])).toBe('failed_definite');
    expect(stateOf([failed(true)])).toBe('failed_definite');
  });

  it('takes every fact from its first request', () => {
    const fold = foldOf([
      requested('inv-1', 't-1', { route: 'a', project_id: 'p-1' }),
      requested('inv-1', 't-2', { route: 'b', target_root: 'late' }),
    ]);

    expect(fold.invocations.get('inv-1')).toMatchObject({
      task_id: 't-1',
      first_seq: 1,
      requested_at: '2026-03-01T00:00:01.000Z',
      request_row: { route: 'a', project_id: 'p-1', request: { prompt: 'do it' } },
    });
    expect(fold.invocations.get('inv-1')?.request_row).not.toHaveProperty('target_root');
  });

  it('without an id is none', () => {
    expect(foldOf([event('run.start_requested', { task_id: 't-1', request: {} })]).invocations.size).toBe(0);
  });

  it('F12: is closed by a start that another part of the log holds', () => {
    const [request, ...later] = recorded([
      requested('inv-1', 't-1'),
      boundStart,
      event('run.closed_absent', { run_id: 'run-1' }),
    ]);
    const fold = new CustodyFold();
    if (request !== undefined) fold.apply(request);
    // A second fold gets only what the first one saved, as a store does between two appends.
    const next = new CustodyFold();
    for (const [id, item] of fold.invocations) next.invocations.set(id, item);

    for (const item of later) next.apply(item);

    expect(next.invocations.get('inv-1')).toMatchObject({ started: true, run_id: 'run-1' });
    expect(next.runs.get('run-1')).toMatchObject({ settled: true });
  });
});

describe('the body of a request', () => {
  it.each([
    ['a body', { request: { prompt: 'p' } }, ['inv-1']],
    ['an empty body', { request: {} }, ['inv-1']],
    ['a reference to one', { request: undefined, request_ref: { blob: 'b' } }, ['inv-1']],
    ['neither', { request: undefined }, []],
    ['a body that is null', { request: null }, []],
    ['a body that is text', { request: 'p' }, []],
  ])('makes an invocation with %s pending or not', (_case, more, pending) => {
    expect(pendingInvocationIds(custodyOf([requested('inv-1', 't-1', more as JsonObject)], 't-1'))).toEqual(
      pending,
    );
  });

  it('F10: is there again after any number of rows', () => {
    const body = { prompt: 'long', list: [1, 2.5, null] };

    const fold = foldOf([
      requested('inv-1', 't-1', { request: body }),
      started('run-9', 't-1'),
      failed(false),
    ]);

    expect(fold.invocations.get('inv-1')?.request_row['request']).toEqual(body);
  });

  it.each([
    ['the key says so', { project_persistent: true, request: {} }, true],
    [
      'the key denies it, whatever the body',
      { project_persistent: false, request: { access: 'workspace_write', workspace_root: '/w' } },
      false,
    ],
    [
      'the body writes into a stable root',
      { request: { access: 'workspace_write', stable_workspace_root: '/w' } },
      true,
    ],
    [
      'the body writes into a blank root',
      { request: { access: 'workspace_write', stable_workspace_root: '  ' } },
      false,
    ],
    ['the body only reads', { request: { access: 'readonly', stable_workspace_root: '/w' } }, false],
    ['there is no body', { request: undefined, request_ref: {} }, false],
  ])('I12: tells whether a registration outlives its run when %s', (_case, more, persistent) => {
    const invocation = foldOf([requested('inv-1', 't-1', more as JsonObject)]).invocations.get('inv-1');

    expect(invocation === undefined ? null : isPersistentInvocation(invocation)).toBe(persistent);
  });

  it('I12: never adds the key that an old row lacks', () => {
    const body = { access: 'workspace_write', stable_workspace_root: '/w' };

    const invocation = foldOf([requested('inv-1', 't-1', { request: body })]).invocations.get('inv-1');

    expect(invocation?.request_row).not.toHaveProperty('project_persistent');
  });
});

describe('pending invocations of a task', () => {
  it('leave review panels out and keep the order of the requests', () => {
    const custody = custodyOf(
      [
        requested('inv-2', 't-1'),
        requested('inv-r', 't-1', { source: 'review_substrate_panel' }),
        requested('inv-1', 't-1'),
        requested('inv-2', 't-1'),
        requested('inv-x', 't-2'),
      ],
      't-1',
    );

    expect(pendingInvocationIds(custody)).toEqual(['inv-2', 'inv-1']);
  });

  it('turn into an open run when the start names them', () => {
    const custody = custodyOf([requested('inv-1', 't-1'), boundStart], 't-1');

    expect([pendingInvocationIds(custody), openRunIds(custody)]).toEqual([[], ['run-1']]);
  });
});
