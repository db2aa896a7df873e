import type { JsonObject, JsonValue } from '@custody/ledger';
import { compareCodePoints, isJsonObject, LIVE_ENVELOPE_KEYS, LIVE_KEYS } from '@custody/ledger';
import { describe, expect, test } from 'vitest';
import { oracleOf } from '../oracle/oracle.ts';
import type { CliBench } from '../support/cli.ts';
import { cliBench } from '../support/cli.ts';
import type { DataRootAnswers } from '../support/data-root.ts';
import { copyFixture, fixtureAnswers } from '../support/data-root.ts';
import { generateRoot } from '../support/root-generator.ts';

type Root = (target: string) => string;

/** The live fields of every readable row, those that are there. */
async function liveFields(bench: CliBench, store: string): Promise<Record<string, JsonObject>> {
  const rows = (await bench.lines(['-s', store, 'task', 'list'])) as readonly JsonObject[];
  return Object.fromEntries(rows.map((row) => [String(row['task_id']), liveFieldsOf(row)]));
}

function liveFieldsOf(row: JsonObject): JsonObject {
  const envelope = row['subagent_envelope'];
  const inner = isJsonObject(envelope) ? pick(envelope, LIVE_ENVELOPE_KEYS) : {};
  return { ...pick(row, LIVE_KEYS), ...(Object.keys(inner).length > 0 ? { subagent_envelope: inner } : {}) };
}

function pick(source: JsonObject, keys: readonly string[]): JsonObject {
  return Object.fromEntries(
    keys.filter((key) => Object.hasOwn(source, key)).map((key) => [key, source[key] as JsonValue]),
  );
}

async function passOf(bench: CliBench, store: string, command: string): Promise<JsonObject> {
  const { code, value } = await bench.json(['-s', store, command]);
  expect({ command, code }).toEqual({ command, code: 0 });
  return value as JsonObject;
}

/** A fresh copy of the root as it is, or imported into SQLite. */
async function open(bench: CliBench, root: Root, kind: string, name: string): Promise<string> {
  const directory = root(bench.path(`${name}-root`));
  if (kind === 'jsonl') return `jsonl:${directory}`;
  const store = `sqlite:${bench.path(`${name}.db`)}`;
  const { code } = await bench.json(['-s', store, 'event', 'import', directory]);
  expect(code).toBe(0);
  return store;
}

async function expectAnswers(root: Root, answers: DataRootAnswers, kind: string): Promise<void> {
  const bench = cliBench();
  const store = await open(bench, root, kind, 'first');
  expect(sorted((await passOf(bench, store, 'backfill'))['refreshed'])).toEqual(
    sorted(answers.backfill.refreshed),
  );
  expect(await liveFields(bench, store)).toEqual(answers.rows_after_backfill);
  const sweep = await passOf(bench, store, 'sweep');
  expect(sorted(sweep['refreshed'])).toEqual(sorted(answers.cursor.refreshed));
  expect(sorted(sweep['deferred'])).toEqual(sorted(answers.cursor.deferred));
  expect(await liveFields(bench, store)).toEqual(answers.rows_after_cursor);
  expect(await bench.json(['-s', store, 'verify', '--rebuild'])).toMatchObject({
    code: 0,
    value: { ok: true },
  });

  const other = await open(bench, root, kind, 'second');
  const alone = await passOf(bench, other, 'sweep');
  expect(sorted(alone['refreshed'])).toEqual(sorted(answers.cursor_alone.refreshed));
  expect(sorted(alone['deferred'])).toEqual(sorted(answers.cursor_alone.deferred));
  expect(await liveFields(bench, other)).toEqual(answers.rows_after_cursor_alone);
}

function sorted(ids: unknown): readonly string[] {
  return [...(ids as readonly string[])].sort(compareCodePoints);
}

/** A root of the generator whose live log does not end in a whole row without its newline: our first append would end that row. */
function generated(seed: number): Root {
  return (target) => {
    generateRoot(target, { seed, tasks: 60, runs: 240, segments: 3, noise: 1 });
    return target;
  };
}

describe.each(['jsonl', 'sqlite'])('a data root as %s', (kind) => {
  test('of 40 tasks and 120 runs: backfill, sweep, and sweep alone give the right answers', async () => {
    await expectAnswers(copyFixture, fixtureAnswers(), kind);
  });

  test.each([5, 6, 8])('of generator seed %i: the same answers as a naive oracle', async (seed) => {
    const root = generated(seed);

    await expectAnswers(root, oracleOf(root(cliBench().path('for-the-oracle'))), kind);
  });
});

describe('an import', () => {
  test('done again brings nothing, and undoes no heal', async () => {
    const bench = cliBench();
    const root = copyFixture(bench.path('root'));
    const store = `sqlite:${bench.path('imported.db')}`;
    await bench.json(['-s', store, 'event', 'import', root]);
    await passOf(bench, store, 'backfill');
    const healed = await liveFields(bench, store);

    const again = await bench.json(['-s', store, 'event', 'import', root]);

    expect(again).toMatchObject({ code: 0, value: { appended: 0, rows_written: 0 } });
    expect(await liveFields(bench, store)).toEqual(healed);
    expect(await passOf(bench, store, 'backfill')).toMatchObject({ refreshed: [] });
  });
});
