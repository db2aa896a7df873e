import { isOutputUnread, undisposedPatchRunIds } from '@custody/ledger';
import { describe, expect, it } from 'vitest';
import { event, settled, started } from '../../support/events.ts';
import { custodyOf, runOf } from '../../support/fold.ts';

const start = started('run-1', 't-1');
const spilled = (more = {}) =>
  event('output.spilled', {
    run_id: 'run-1',
    staged: true,
    artifact: 'out.txt',
    full_content: true,
    sha256: 'x',
    ...more,
  });
const consumed = (more = {}) => event('output.consumed', { run_id: 'run-1', sha256: 'x', ...more });

describe('the output of a run', () => {
  it('is unread from its end until somebody takes it', () => {
    expect(isOutputUnread(runOf([start, spilled()], 'run-1'))).toBe(false);
    expect(isOutputUnread(runOf([start, spilled(), settled('run-1')], 'run-1'))).toBe(true);
    expect(isOutputUnread(runOf([start, spilled(), settled('run-1'), consumed()], 'run-1'))).toBe(false);
  });

  it('F18: that was taken is unread again when another one replaces it', () => {
    const history = [start, spilled(), consumed(), spilled({ sha256: 'y' })];

    expect(runOf(history, 'run-1')).toMatchObject({ output_consumed: false, output_sha: 'y' });
    expect(runOf([...history, consumed()], 'run-1').output_consumed).toBe(false);
    expect(runOf([...history, consumed({ sha256: 'y' })], 'run-1').output_consumed).toBe(true);
  });

  it('F18: stays taken when the same one is spilled again, or one without a hash', () => {
    expect(runOf([start, spilled(), consumed(), spilled()], 'run-1').output_consumed).toBe(true);
    expect(runOf([start, spilled(), consumed(), spilled({ sha256: '' })], 'run-1').output_consumed).toBe(
      true,
    );
  });

  it('F19: is complete only where the row says exactly true', () => {
    expect(runOf([start, spilled({ full_content: 1 })], 'run-1').output_complete).toBe(false);
    expect(runOf([start, spilled({ full_content: 'true' })], 'run-1').output_complete).toBe(false);
    expect(runOf([start, spilled()], 'run-1').output_complete).toBe(true);
  });

  it.each([
    ['is not staged', { staged: false }],
    ['is staged by an empty list', { staged: [] }],
    ['has no artifact', { artifact: '' }],
  ])('is ignored when it %s', (_case, more) => {
    expect(runOf([start, spilled(more)], 'run-1').output_artifact).toBe('');
  });

  it('is staged by whatever its writer holds for true', () => {
    expect(runOf([start, spilled({ staged: 1 })], 'run-1').output_artifact).toBe('out.txt');
  });

  it('remembers each reader once, the owner when none is named', () => {
    const run = runOf(
      [
        start,
        spilled(),
        consumed({ reader_task_id: 't-9' }),
        consumed({ sha256: '' }),
        consumed({ reader_task_id: 't-9' }),
      ],
      'run-1',
    );

    expect(run.output_reader_receipts).toEqual([{ reader_task_id: 't-9' }, { reader_task_id: 't-1' }]);
  });

  it('names its hash as sha256 or sha', () => {
    const run = runOf(
      [start, spilled({ sha256: '', sha: 'z' }), consumed({ sha256: '', sha: 'z' })],
      'run-1',
    );

    expect(run).toMatchObject({ output_sha: 'z', output_consumed: true });
  });
});

describe('the patch of a run', () => {
  const withSnapshot = started('run-1', 't-1', { snapshot_id: 's-1' });
  const disposed = (disposition: unknown) =>
    ({ type: 'patch.disposed', run_id: 'run-1', disposition }) as never;

  it('is owed as soon as a run with a snapshot ended, even if nothing was captured', () => {
    expect(undisposedPatchRunIds(custodyOf([withSnapshot], 't-1'))).toEqual([]);
    expect(undisposedPatchRunIds(custodyOf([withSnapshot, settled('run-1')], 't-1'))).toEqual(['run-1']);
  });

  it('is owed by a run on a copied directory, and by no other kind of resource', () => {
    const on = (resource_ref: Record<string, string>) =>
      undisposedPatchRunIds(custodyOf([started('run-1', 't-1', { resource_ref }), settled('run-1')], 't-1'));

    expect(on({ workspace_kind: 'directory', strategy: 'copy' })).toEqual(['run-1']);
    expect(on({ workspace_kind: 'directory', strategy: 'link' })).toEqual([]);
    expect(on({ workspace_kind: 'git', strategy: 'copy' })).toEqual([]);
  });

  it('is owed by a run of a review panel too', () => {
    const review = started('run-1', 't-1', { snapshot_id: 's-1', source: 'review_substrate_panel' });

    expect(undisposedPatchRunIds(custodyOf([review, settled('run-1')], 't-1'))).toEqual(['run-1']);
  });

  it('F20: that somebody began to apply is pending until it is resolved or disposed', () => {
    const begun = [
      withSnapshot,
      settled('run-1'),
      event('patch.apply_started', { run_id: 'run-1', apply_key: 'k-1' }),
    ];

    expect(runOf(begun, 'run-1')).toMatchObject({ patch_apply_pending: true, patch_apply_key: 'k-1' });
    expect(runOf([...begun, event('patch.apply_resolved', { run_id: 'run-1' })], 'run-1')).toMatchObject({
      patch_apply_pending: false,
      patch_disposed: '',
    });
    const applied = [...begun, disposed('applied')];
    expect(runOf(applied, 'run-1')).toMatchObject({ patch_apply_pending: false, patch_disposed: 'applied' });
    expect(undisposedPatchRunIds(custodyOf(applied, 't-1'))).toEqual([]);
  });

  it.each([[''], [17], [null], [undefined]])('is not disposed by the disposition %j', (disposition) => {
    const history = [withSnapshot, settled('run-1'), disposed(disposition)];

    expect(undisposedPatchRunIds(custodyOf(history, 't-1'))).toEqual(['run-1']);
  });

  it('is captured, and containment disclosed, when a row says so', () => {
    const run = runOf(
      [
        start,
        event('patch.captured', { run_id: 'run-1' }),
        event('containment.unconfined', { run_id: 'run-1' }),
        event('output.left_unread', { run_id: 'run-1' }),
      ],
      'run-1',
    );

    expect(run).toMatchObject({ patch_captured: true, containment_disclosed: true, unread_disclosed: true });
  });

  it.each([
    'run.settle_failed',
    'run.cancel_outcome',
    'run.reconciled',
    'project.retire_failed',
    'run.start_failed',
  ])('is not touched by %s', (type) => {
    const before = runOf([withSnapshot], 'run-1');

    expect(runOf([withSnapshot, event(type, { run_id: 'run-1', task_id: 't-1' })], 'run-1')).toEqual(before);
  });
});
