import { mkdtempSync, readdirSync, readFileSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { oracleOf } from '../../oracle/oracle.ts';
import { generateRoot } from '../../support/root-generator.ts';

const OPTIONS = { seed: 11, tasks: 60, runs: 300, segments: 3, noise: 1 };

describe('the generator of data roots', () => {
  let directory = '';

  beforeEach(() => {
    directory = mkdtempSync(join(tmpdir(), 'custody-roots-'));
  });

  afterEach(() => {
    rmSync(directory, { recursive: true });
  });

  it('writes the same bytes for the same options', () => {
    generateRoot(join(directory, 'a'), OPTIONS);
    generateRoot(join(directory, 'b'), OPTIONS);

    expect(bytesOf(join(directory, 'b'))).toEqual(bytesOf(join(directory, 'a')));
  });

  it('writes another root for another seed', () => {
    generateRoot(join(directory, 'a'), OPTIONS);
    generateRoot(join(directory, 'b'), { ...OPTIONS, seed: 12 });

    expect(bytesOf(join(directory, 'b'))).not.toEqual(bytesOf(join(directory, 'a')));
  });

  it('makes rows that a backfill changes and rows that it leaves, and a backfill leaves nothing to the cursor', () => {
    const { taskIds } = generateRoot(join(directory, 'a'), OPTIONS);

    const answer = oracleOf(join(directory, 'a'));

    const rows = Object.keys(answer.rows_after_backfill);
    expect(answer.backfill.refreshed.length).toBeGreaterThan(10);
    expect(rows.length - answer.backfill.refreshed.length).toBeGreaterThan(10);
    expect(taskIds.length).toBeGreaterThan(rows.length);
    expect(answer.cursor.refreshed).toEqual([]);
    expect(answer.cursor_alone.refreshed.length).toBeGreaterThan(10);
    expect(answer.cursor.deferred.length).toBeGreaterThan(5);
  });

  it('makes roots of one run and of none', () => {
    generateRoot(join(directory, 'a'), { ...OPTIONS, tasks: 1, runs: 1, segments: 0 });
    generateRoot(join(directory, 'b'), { ...OPTIONS, tasks: 1, runs: 0 });

    expect(
      readdirSync(join(directory, 'a', 'archive')).filter((name) => name.endsWith('.jsonl')),
    ).toHaveLength(1);
    expect(oracleOf(join(directory, 'b')).cursor.deferred).toEqual([]);
  });
});

/** The content of every file under a directory, by its path. */
function bytesOf(root: string): Map<string, string> {
  const paths = readdirSync(root, { recursive: true, encoding: 'utf8' }).sort();
  const files = paths.filter((path) => statSync(join(root, path)).isFile());
  return new Map(files.map((path) => [path, readFileSync(join(root, path), 'latin1')]));
}
