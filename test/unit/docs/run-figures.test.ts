import { expect, test } from 'vitest';
import { countFigures, figureLines } from '../../support/figures.ts';

test('figures of many tests become a line a subject, with the sum of each kind', () => {
  expect(
    figureLines([
      { subject: 'kills', kind: 'appends', count: 50 },
      { subject: 'hostile inputs', kind: 'P10', count: 1 },
      { subject: 'kills', kind: 'appends', count: 20 },
      { subject: 'hostile inputs', kind: 'P2', count: 3 },
      { subject: 'lost by kills', kind: 'appends', count: 0 },
    ]),
  ).toEqual(['hostile inputs: 4 (P2 3, P10 1)', 'kills: 70 (appends 70)', 'lost by kills: 0']);
});

test('figures are kept with the test that counted them', ({ task }) => {
  countFigures('tamperings', [['of this test', 0]]);

  expect(task.meta.figures).toEqual([{ subject: 'tamperings', kind: 'of this test', count: 0 }]);
  // They say nothing of the run.
  task.meta.figures = [];
});
