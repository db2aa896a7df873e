import { deferredProjectRetirements, isRegistrationOwned, undisposedPatchRunIds } from '@custody/ledger';
import { describe, expect, it } from 'vitest';
import { event, settled, started } from '../../support/events.ts';
import { custodyOf, foldOf, runOf } from '../../support/fold.ts';

describe('a project', () => {
  const owned = { project_id: 'p-1', project_owned: true };

  it('F2: belongs to a run that starts after the retirement, and to no earlier one', () => {
    const fold = foldOf([
      started('run-a', 't-1', owned),
      settled('run-a'),
      event('project.retired', { run_id: 'run-a' }),
      started('run-c', 't-1', owned),
    ]);

    expect([...fold.runs.values()].filter(isRegistrationOwned).map((run) => run.run_id)).toEqual(['run-c']);
  });

  it('is retired for all of its runs at once, a failed attempt retires nothing', () => {
    const starts = [
      started('run-a', 't-1', owned),
      started('run-b', 't-2', owned),
      settled('run-a'),
      settled('run-b'),
    ];

    const failed = custodyOf([...starts, event('project.retire_failed', { run_id: 'run-b' })], 't-1');
    const retired = custodyOf([...starts, event('project.retired', { run_id: 'run-b' })], 't-1');

    expect(deferredProjectRetirements(failed)).toEqual(['run-a']);
    expect(deferredProjectRetirements(retired)).toEqual([]);
  });

  it('is told by the row before the record, and not by a run that is unknown', () => {
    const starts = [started('run-a', 't-1', owned), started('run-b', 't-1', { ...owned, project_id: 'p-2' })];

    const byRow = foldOf([...starts, event('project.retired', { run_id: 'run-b', project_id: 'p-1' })]);
    const byStranger = foldOf([...starts, event('project.retired', { run_id: 'run-x', project_id: 'p-1' })]);

    expect([...byRow.runs.values()].map((run) => run.project_owned)).toEqual([false, false]);
    expect([...byStranger.runs.values()].filter(isRegistrationOwned)).toHaveLength(2);
  });

  it('that is owned and not yet settled is owed to nobody yet', () => {
    expect(deferredProjectRetirements(custodyOf([started('run-a', 't-1', owned)], 't-1'))).toEqual([]);
  });
});

describe('a continuation', () => {
  const first = started('run-1', 't-1', { snapshot_id: 's-1' });
  const next = { snapshot_id: 's-1', capture_id: 'c-1', continuation_of: 'run-1' };

  it('F21: in its predecessor’s snapshot takes the patch debt over', () => {
    const custody = custodyOf(
      [first, settled('run-1'), started('run-2', 't-1', next), settled('run-2')],
      't-1',
    );

    expect(custody.runs[0]).toMatchObject({ patch_disposed: 'superseded', superseded_by: 'run-2' });
    expect(undisposedPatchRunIds(custody)).toEqual(['run-2']);
  });

  it.each([
    ['in another snapshot', { ...next, snapshot_id: 's-2' }],
    ['without a capture', { ...next, capture_id: '' }],
    ['without a snapshot', { ...next, snapshot_id: '' }],
    ['of a run that is unknown', { ...next, continuation_of: 'run-x' }],
  ])('F21: %s takes nothing over', (_case, fields) => {
    const custody = custodyOf([first, settled('run-1'), started('run-2', 't-1', fields)], 't-1');

    expect(undisposedPatchRunIds(custody)).toEqual(['run-1']);
  });

  it('F21: leaves a patch alone that was decided on, and hands a superseded one on', () => {
    const applied = event('patch.disposed', { run_id: 'run-1', disposition: 'applied' });

    const decided = runOf([first, settled('run-1'), applied, started('run-2', 't-1', next)], 'run-1');
    const handedOn = runOf(
      [first, settled('run-1'), started('run-2', 't-1', next), started('run-3', 't-1', next)],
      'run-1',
    );

    expect(decided).toMatchObject({ patch_disposed: 'applied', superseded_by: '' });
    expect(handedOn).toMatchObject({ patch_disposed: 'superseded', superseded_by: 'run-3' });
  });

  it('F21: of itself supersedes nothing', () => {
    const run = runOf(
      [started('run-1', 't-1', next), settled('run-1'), started('run-1', 't-1', next)],
      'run-1',
    );

    expect(run.patch_disposed).toBe('');
  });
});
