import { existsSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import { cliBench, shaped, toLines } from '../support/cli.ts';
import { done } from '../support/cli-managed.ts';
import { CLI_SCHEMAS, ERROR_SCHEMA } from '../support/cli-schemas.ts';

const HELD = ['--task', 'task-1', '--run', 'run-1', '--fence', '2'];

/** Every verb of managed tasks, used rightly. */
const VERBS: readonly (readonly string[])[] = [
  ['task', 'create', '--id', 'task-1', '--title', 'T'],
  ['task', 'link', 'task-1', '--parent', 'task-2'],
  ['task', 'assign', 'task-1', '--to', 'alice'],
  ['task', 'comment', 'task-1', '--author', 'alice', '--body', 'hm'],
  ['task', 'block', 'task-1', '--reason', 'why'],
  ['task', 'unblock', 'task-1'],
  ['task', 'promote', 'task-1', '--operator', 'alice'],
  ['task', 'specify', 'task-1', '--title', 'T'],
  ['task', 'decompose', 'task-1', '--child', 'T'],
  ['task', 'complete', 'task-1', '--operator', 'alice'],
  ['task', 'cancel', 'task-1'],
  ['task', 'archive', 'task-1'],
  ['run', 'claim', '--holder', 'alice'],
  ['run', 'heartbeat', '--run', 'run-1', '--fence', '2'],
  ['run', 'push', '--run', 'run-1', '--fence', '2', '--state', 'working'],
  ['run', 'refresh', '--run', 'run-1', '--holder', 'alice'],
  ['run', 'submit', ...HELD, '--key', 'k', '--value', 'v'],
  ['run', 'complete', ...HELD, '--result', 'x'],
  ['run', 'fail', ...HELD, '--reason', 'x'],
  ['run', 'block', ...HELD, '--reason', 'x'],
  ['run', 'reclaim', '--task', 'task-1', '--run', 'run-1', '--reason', 'x'],
  ['run', 'list', '--task', 'task-1'],
  ['journal', 'write', '--dir', 'journals', '--task', 'task-1', '--run', 'run-1', '--result', 'x'],
  ['journal', 'recover', 'journals'],
  ['init', '--set', 'CUSTODY_LEASE_TTL=1m'],
];

/** A command with its name, for titles. */
function named(args: readonly string[]): { readonly verb: string; readonly args: readonly string[] } {
  const [group = '', verb = ''] = args;
  return { verb: `${group} ${verb}`, args };
}

/** Verbs whose run and fence guard a write. */
const GUARDED = VERBS.filter((args) => args.includes('--fence'));

function without(args: readonly string[], option: string): readonly string[] {
  const at = args.indexOf(option);
  return [...args.slice(0, at), ...args.slice(at + 2)];
}

function withValue(args: readonly string[], option: string, value: string): readonly string[] {
  return args.map((arg, index) => (args[index - 1] === option ? value : arg));
}

/** Runs a command that is wrong usage: exit 2, the error named, and no store made. */
async function wrong(args: readonly string[]): Promise<string> {
  const bench = cliBench();
  const { code, value } = await bench.json(args);
  const { error } = shaped(ERROR_SCHEMA, value);
  expect({ args, code, madeStore: existsSync(bench.path('.custody')) }).toEqual({
    args,
    code: 2,
    madeStore: false,
  });
  expect(['usage', 'invalid_option']).toContain(error.code);
  return error.message;
}

describe('a missing, blank or malformed run id or fence is wrong usage, never "no guard"', () => {
  test.for(GUARDED.map(named))('$verb', async ({ args }) => {
    expect(await wrong(without(args, '--run'))).toMatch(/--run/);
    expect(await wrong(without(args, '--fence'))).toMatch(/--fence/);
    for (const run of ['', '  ', 'no such id', '-x'])
      expect(await wrong(withValue(args, '--run', run))).toMatch(/--run/);
    for (const fence of ['', ' ', '0', '-1', '1.5', '2x', 'null', '9'.repeat(20)])
      expect(await wrong(withValue(args, '--fence', fence))).toMatch(/--fence/);
  });
});

test.for([
  { args: ['run', 'claim'], says: /--holder/ },
  { args: ['run', 'claim', '--holder', ' '], says: /--holder/ },
  { args: ['run', 'claim', '--holder', 'a', '--task', ''], says: /--task takes an id/ },
  { args: ['run', 'claim', '--holder', 'a', '--ttl', 'soon'], says: /--ttl takes a duration/ },
  { args: ['run', 'claim', '--holder', 'a', '--pid', '0'], says: /--pid takes a process id/ },
  { args: ['run', 'complete', ...HELD, '--replay', '--result', 'x'], says: /exclude each other/ },
  { args: ['run', 'complete', ...HELD], says: /--result/ },
  { args: ['run', 'block', ...HELD, '--reason', 'x', '--kind', 'mood'], says: /--kind/ },
  { args: ['run', 'block', ...HELD, '--reason', ''], says: /--reason/ },
  { args: ['run', 'reclaim', '--task', 'task-1', '--reason', 'x'], says: /--run/ },
  { args: ['run', 'wait'], says: /unknown command/ },
  { args: ['task', 'create', '--id', 'task-1'], says: /--title/ },
  { args: ['task', 'create', '--id', 'a b', '--title', 'T'], says: /--id takes an id/ },
  { args: ['task', 'create', '--title', 'T', '--parent', ''], says: /--parent 1 takes an id/ },
  { args: ['task', 'create', '--title', 'T', '--priority', 'high'], says: /--priority/ },
  { args: ['task', 'complete', 'task-1'], says: /--operator/ },
  { args: ['task', 'complete', '', '--operator', 'alice'], says: /ID takes an id/ },
  { args: ['task', 'comment', 'task-1', '--author', 'a', '--body', ''], says: /--body/ },
  { args: ['task', 'comment', 'task-1', '--author', 'a', '--body', 'b', '--run', ''], says: /--run takes/ },
  { args: ['task', 'decompose', 'task-1'], says: /--child/ },
  { args: ['task', 'decompose', 'task-1', '--child', 'task-2='], says: /--child takes a title/ },
  { args: ['journal', 'write', '--dir', '', ...HELD.slice(0, 4), '--result', 'x'], says: /--dir/ },
  { args: ['journal', 'write', '--dir', 'd', '--task', 't', '--run', ' ', '--result', 'x'], says: /--run/ },
  { args: ['init', '--set', 'CUSTODY_LEASE_TTL'], says: /--set takes NAME=DURATION/ },
  { args: ['init', '--set', 'LEASE=5s'], says: /--set takes NAME=DURATION/ },
  { args: ['init', '--set', 'CUSTODY_LEASE_TTL=0s'], says: /takes a duration/ },
  { args: ['init', '--set', 'CUSTODY_CRASH_GRACE=120'], says: /takes a duration/ },
] as const)('$args is wrong usage', async ({ args, says }) => {
  expect(await wrong(args)).toMatch(says);
});

test('a pid that no process has is wrong usage, and nothing is claimed', async () => {
  const bench = cliBench();
  await done(bench, 'task create', '--id', 'task-1', '--title', 'T');

  const { code, value } = await bench.json(['run', 'claim', '--holder', 'a', '--pid', '4999999']);

  expect(code).toBe(2);
  expect(shaped(ERROR_SCHEMA, value).error.message).toMatch(/no process 4999999/);
  expect((await bench.json(['task', 'get', 'task-1'])).value).toMatchObject({ status: 'ready' });
});

test.for(VERBS.map(named))(
  '$verb on a jsonl store exits 2 not_supported, and makes nothing',
  async ({ args }) => {
    const bench = cliBench();

    const { code, value } = await bench.json(['-s', 'jsonl:root', ...args]);

    const { error } = shaped(ERROR_SCHEMA, value);
    expect({ code, error: error.code, store: error['store'] }).toEqual({
      code: 2,
      error: 'not_supported',
      store: 'jsonl:root',
    });
    expect(error.hint).toMatch(/event import/);
    expect(existsSync(bench.path('root'))).toBe(false);
    expect(existsSync(bench.path('journals'))).toBe(false);
  },
);

test('a jsonl store that is there refuses managed tasks too, and what the hint says works', async () => {
  const bench = cliBench();
  const stdin = toLines({ type: 'run.started', task_id: 't', run_id: 'r' });
  await bench.run(['-s', 'jsonl:root', 'event', 'append'], { stdin });

  const onJsonl = await bench.json(['-s', 'jsonl:root', 'task', 'create', '--id', 'task-1', '--title', 'T']);
  await bench.run(['init']);
  const imported = await bench.run(['event', 'import', 'root']);
  const onSqlite = await done(bench, 'task create', '--id', 'task-1', '--title', 'T');

  expect(onJsonl).toMatchObject({ code: 2, value: { error: { code: 'not_supported' } } });
  expect(imported.code).toBe(0);
  expect(onSqlite.status).toBe('ready');
});

test('a store that is not there is missing for every verb but task create, and is not made', async () => {
  const bench = cliBench();

  for (const args of [
    ['run', 'claim', '--holder', 'a'],
    ['task', 'cancel', 'task-1'],
    ['run', 'list', '--task', 'task-1'],
    ['journal', 'recover', 'journals'],
  ]) {
    expect(await bench.json(args)).toMatchObject({ code: 3, value: { error: { code: 'store_missing' } } });
  }
  expect(existsSync(bench.path('.custody'))).toBe(false);
  await done(bench, 'task create', '--id', 'task-1', '--title', 'T');
  expect(existsSync(bench.path('.custody/custody.db'))).toBe(true);
});

test('a journal needs no store, takes one result of a run, and says what is wrong with its folder', async () => {
  const bench = cliBench();
  const write = (result: string, dir = 'journals') => [
    ...['journal', 'write', '--dir', dir, '--task', 'task-1', '--run', 'run-1'],
    ...['--result', result, '--summary', 'in short'],
  ];

  const first = await bench.json(write('one'));
  const same = await bench.json(write('one'));
  const other = await bench.json(write('two'));
  const onFile = await bench.json(write('one', shaped(CLI_SCHEMAS['journal write'], first.value).pending));

  expect(first.code).toBe(0);
  expect(same).toEqual(first);
  expect(other).toMatchObject({
    code: 1,
    value: { outcome: 'refused', reason: 'journal_conflict', task_id: 'task-1', run_id: 'run-1' },
  });
  expect(onFile).toMatchObject({ code: 3, value: { error: { code: 'journal_unusable' } } });
  expect(existsSync(bench.path('.custody'))).toBe(false);
});

test('init says the times of the store, and setting one keeps the others', async () => {
  const bench = cliBench();

  const fresh = await bench.json(['init']);
  await bench.json(['init', '--set', 'CUSTODY_CRASH_GRACE=30s']);
  const both = await bench.json(['init', '--set', 'CUSTODY_LEASE_TTL=5m']);
  const asText = await bench.run(['init', '--set', 'CUSTODY_PARK_SETTLE=500ms']);
  const jsonl = await bench.json(['-s', 'jsonl:root', 'init']);

  expect(shaped(CLI_SCHEMAS.init, fresh.value)).toMatchObject({
    settings: { lease_ttl_ms: 900_000, crash_grace_ms: 120_000, park_settle_ms: 5000, failure_limit: 2 },
  });
  expect(shaped(CLI_SCHEMAS.init, both.value)).toMatchObject({
    settings: { lease_ttl_ms: 300_000, crash_grace_ms: 30_000, park_settle_ms: 5000 },
  });
  expect(asText.stdout).toMatch(/crash grace 30s\npark settle 500ms\nlease ttl 5m\n$/);
  expect(shaped(CLI_SCHEMAS.init, jsonl.value).settings).toBeUndefined();
});
