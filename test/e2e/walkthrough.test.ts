import { spawn } from 'node:child_process';
import { beforeEach, describe, expect, test } from 'vitest';
import type { CliBench } from '../support/cli.ts';
import { CLI_BIN, cliBench, finished, shaped, toLines } from '../support/cli.ts';
import { CLI_SCHEMAS, REFUSAL_SCHEMA } from '../support/cli-schemas.ts';
import { plain, runOnTerminal, startOnTerminal } from '../support/terminal.ts';

// What happens at three in the morning: somebody is woken, has one terminal of 80 columns, and five questions.

const NIGHT = toLines(
  {
    type: 'run.start_requested',
    at: '2026-03-01T20:00:00.000Z',
    task_id: 't-17',
    invocation_id: 'inv-3',
    request: { prompt: 'x' },
  },
  { type: 'run.started', at: '2026-03-01T20:00:05.000Z', task_id: 't-17', run_id: 'r-8', model: 'm-1' },
  {
    type: 'run.settled',
    at: '2026-03-01T20:14:00.000Z',
    run_id: 'r-8',
    state: 'failed',
    outcome_reason: 'provider unavailable',
    cost_usd: 0.4,
    spend_disclosed: true,
  },
  {
    type: 'run.started',
    at: '2026-03-01T20:16:00.000Z',
    task_id: 't-17',
    run_id: 'r-9',
    model: 'm-1',
    snapshot_id: 'snap-1',
  },
  {
    type: 'task.recorded',
    at: '2026-03-01T20:20:00.000Z',
    task_id: 't-17',
    status: 'failed',
    reason_code: 'provider_unavailable',
    error: 'the provider answered 503 three times',
  },
  { type: 'run.started', at: '2026-03-02T02:00:00.000Z', task_id: 't-18', run_id: 'r-10' },
);

const LATE = toLines({
  type: 'run.settled',
  at: '2026-03-01T20:40:00.000Z',
  run_id: 'r-9',
  state: 'succeeded',
  cost_usd: 1.25,
  spend_disclosed: true,
});

const ROWS = toLines(
  {
    task_id: 't-17',
    status: 'failed',
    title: 'Write the parser',
    reason_code: 'provider_unavailable',
    error: 'the provider answered 503 three times',
    delegated_runs_started: 2,
    delegated_runs_settled: 1,
    delegated_runs_unreconciled: ['r-9'],
  },
  { task_id: 't-18', status: 'running' },
);

/** A ledger after a bad night: a row that lies, a start nobody knows of, a run that goes on, a task that is held. */
async function afterBadNight(): Promise<CliBench> {
  const bench = cliBench();
  const steps: readonly (readonly [readonly string[], string?])[] = [
    [['append'], NIGHT],
    [['task', 'put'], ROWS],
    [['append'], LATE],
    [['task', 'create', '--id', 't-20', '--title', 'Write the report']],
    [['run', 'claim', '--holder', 'alice@build-3']],
  ];
  for (const [args, stdin = ''] of steps) expect((await bench.run(args, { stdin })).code).toBe(0);
  return bench;
}

let bench: CliBench;

beforeEach(async () => {
  bench = await afterBadNight();
});

/** The answer to a question, held to what a screen must be. */
async function answer(...args: readonly string[]): Promise<string> {
  const { code, raw, lines } = await runOnTerminal(args, { dir: bench.dir });
  expect({ args, code }).toEqual({ args, code: 0 });
  expect(lines.length).toBeLessThan(100);
  expect(lines.filter((line) => line.length > 80)).toEqual([]);
  // No line is a JSON document, and a terminal gets colours.
  expect(lines.filter((line) => /^\s*[{[]/.test(line))).toEqual([]);
  expect(raw).toContain('\u001b[');
  const text = lines.join('\n');
  const colourless = await runOnTerminal(args, { dir: bench.dir, env: { NO_COLOR: '1' } });
  expect(colourless.raw).not.toContain('\u001b[');
  return text;
}

describe('five questions, each answered by one command on a terminal of 80 columns', () => {
  test('what is owed?', async () => {
    const screen = await answer('audit');

    expect(screen).toMatch(/^3 owed by 2 tasks, the oldest for [\dh dms]+, 1 held, 1 row is not true\n/);
    const items = screen.split('\n').filter((line) => /^\d+\w( \d+\w)? +t-/.test(line));
    expect(items.map((line) => line.replace(/^\d+\w( \d+\w)? +/, '').replaceAll(/ {2,}/g, ' | '))).toEqual([
      't-17 | start inv-3 | - | asked for; outcome unknown',
      't-17 | patch r-9 | m-1 | run succeeded; applied or rejected?',
      't-18 | run r-10 | - | not ended; task running',
      expect.stringMatching(/^t-20 \| \S+ \| alice@build-3 \| until \d\d:\d\d:\d\dZ$/) as unknown,
    ]);
    // Columns stand under each other.
    const starts = items.slice(0, 3).map((line) => line.indexOf('t-1'));
    expect(new Set(starts).size).toBe(1);
    expect(screen).toContain('\n  $ custody inspect task t-17\n');
    expect(screen).toContain('\nrows that are not true: t-17\n  $ custody clear t-17 --dry-run');
  });

  test('why is t-17 failed?', async () => {
    const screen = await answer('explain', 't-17');

    expect(screen).toMatch(
      /^task t-17: failed, provider_unavailable, the provider answered 503 three times\n/,
    );
    expect(screen).toMatch(/\nfrozen {2}status "failed"\n +seq 5 {2}2026-03-01 20:20:00Z {2}task.recorded/);
    expect(screen).toMatch(/\nuntrue {2}delegated_runs_unreconciled \["r-9"\]\n/);
    expect(screen).toMatch(/\n +- r-9\n +\+ invocation:inv-3\n +\+ patch:r-9\n/);
    expect(screen).toMatch(/\n +seq 7 {2}2026-03-01 20:40:00Z {2}run.settled r-9 {2}state succeeded/);
  });

  test('what happened to run r-9?', async () => {
    const screen = await answer('inspect', 'run', 'r-9');

    expect(screen).toMatch(/^run r-9, delegate of t-17: succeeded after 24m\n/);
    expect(screen).toMatch(/\n {2}r-9 {2}=+\.+ {2}24m succeeded, patch owed\n/);
    expect(screen).toMatch(/7 {2}2026-03-01 20:40:00Z {2}run.settled {2}state succeeded, cost_usd 1.25/);
  });

  test('what would the healer change?', async () => {
    const screen = await answer('backfill', '--dry-run');

    expect(screen).toMatch(/^t-17 because of seq 1, 3, 7\n {2}delegated_runs_unreconciled\n/);
    expect(screen).toMatch(/\n {4}- r-9\n {4}\+ invocation:inv-3\n {4}\+ patch:r-9\n/);
    expect(screen).toMatch(/\n {2}\$ custody backfill \\\n +--plan [0-9a-f]{64}\n/);
    expect(screen).toContain('1 rows examined, 1 to refresh, 0 failed');
  });

  test('is the log intact?', async () => {
    const screen = await answer('verify', '--rebuild');

    expect(screen).toMatch(/^ok: 9 events, nothing lost or edited\nhead 9:[0-9a-f]{64}$/);
  });
});

test('what a task lived through is drawn as bars over time', async () => {
  const screen = await answer('inspect', 'task', 't-17');

  const bars = screen.split('\n').filter((line) => /^ {2}(r-\d+|inv-3) /.test(line));
  expect(bars.map((line) => line.replace(/^ {2}(\S+) +\S+ +/, '$1 '))).toEqual([
    expect.stringMatching(/^inv-3 .*start, outcome unknown$/) as unknown,
    'r-8 13m 55s failed',
    'r-9 24m succeeded, patch owed',
  ]);
  expect(screen).toMatch(/\n +2026-03-01 20:00:00Z +now\n/);
});

test('the plan that was shown is the plan that is applied; one event in between, and it is refused', async () => {
  for (const [command, ...args] of [['backfill'], ['sweep'], ['clear', 't-17']] as const) {
    const planned = await bench.json([command, ...args, '--dry-run']);
    const { plan_hash: hash = '' } = shaped(CLI_SCHEMAS[command], planned.value);
    await bench.run(['append'], { stdin: toLines({ type: 'x.note', text: command }) });
    const stale = await bench.json([command, ...args, '--plan', hash]);

    expect({ command, code: stale.code }).toEqual({ command, code: 1 });
    expect(shaped(REFUSAL_SCHEMA, stale.value)).toMatchObject({ outcome: 'refused', reason: 'plan_changed' });
  }
  const { value: row } = await bench.json(['task', 'get', 't-17']);
  expect(row).toMatchObject({ delegated_runs_unreconciled: ['r-9'] });
  const again = shaped(CLI_SCHEMAS.backfill, (await bench.json(['backfill', '--dry-run'])).value);
  const applied = await bench.run(['backfill', '--plan', again.plan_hash ?? '']);
  expect(applied.code).toBe(0);
  expect((await bench.json(['task', 'get', 't-17'])).value).toMatchObject({
    delegated_runs_unreconciled: ['invocation:inv-3', 'patch:r-9'],
  });
});

test.for([
  [['backfill']],
  [['sweep', '--live', 't-18']],
  [['sweep', '--live', '']],
  [['clear', 't-17']],
] as const)('the plan of %j that a person copies from the screen applies', async ([command]) => {
  const { lines } = await runOnTerminal([...command, '--dry-run'], { dir: bench.dir });
  const at = lines.findIndex((line) => line.startsWith('  $ custody'));
  const copied = `${lines[at]?.replace('  $ custody', '')}\n${lines[at + 1]}`;

  const child = spawn('sh', ['-c', `"$0" "$1" ${copied}`, process.execPath, CLI_BIN], { cwd: bench.dir });
  expect(await finished(child)).toMatchObject({ code: 0 });
  expect((await bench.json(['task', 'get', 't-17'])).value).toMatchObject({
    delegated_runs_unreconciled: ['invocation:inv-3', 'patch:r-9'],
  });
});

test.for([
  ['Ctrl-C', (run: Awaited<ReturnType<typeof startOnTerminal>>) => run.type('\u0003')],
  ['SIGTERM', (run: Awaited<ReturnType<typeof startOnTerminal>>) => run.kill('SIGTERM')],
] as const)(
  'audit --watch draws over its screen, sees what is new, and %s gives the terminal back',
  async ([, stop]) => {
    const run = await startOnTerminal(['audit', '--watch', '50ms'], { dir: bench.dir });
    await run.shows('3 owed by 2 tasks');

    await bench.run(['append'], { stdin: toLines({ type: 'run.started', task_id: 't-19', run_id: 'r-11' }) });
    await run.shows('4 owed by 3 tasks');
    stop(run);

    expect(await run.ended).toEqual({ code: 0, signal: 0 });
    const raw = run.output();
    expect(raw.startsWith('\u001b[?1049h\u001b[?25l')).toBe(true);
    expect(raw.endsWith('\u001b[?25h\u001b[?1049l')).toBe(true);
    // Every screen begins at the upper left, and is not higher than the terminal.
    const screens = raw.split('\u001b[H').slice(1);
    expect(screens.length).toBeGreaterThan(1);
    for (const screen of screens) expect(plain(screen).split('\n').length).toBeLessThanOrEqual(24);
  },
);

test('audit --watch without a terminal prints one screen after the other, and a document a line with --json', async () => {
  const text = bench.start(['audit', '--watch', '50ms']);
  const json = bench.start(['--json', 'audit', '--watch', '50ms']);
  const seen = await Promise.all([text, json].map(screensUntilStopped));

  expect(seen[0]).not.toContain('\u001b');
  expect(seen[0]?.split('\n\n3 owed').length).toBeGreaterThan(1);
  const lines = (seen[1] ?? '').trim().split('\n');
  expect(lines.length).toBeGreaterThan(1);
  for (const line of lines) shaped(CLI_SCHEMAS.audit, JSON.parse(line));
});

/** What a child printed until it was stopped after some screens. */
async function screensUntilStopped(child: ReturnType<CliBench['start']>): Promise<string> {
  let output = '';
  const ended = new Promise<number | null>((resolve) => child.once('close', resolve));
  await new Promise<void>((resolve) => {
    child.stdout.on('data', (piece: Buffer) => {
      output += piece.toString('utf8');
      if (
        (output.match(/seq/g)?.length ?? 0) > 2 &&
        output.split('owed by').length + output.split('not_known').length > 4
      )
        resolve();
    });
  });
  child.kill('SIGINT');
  expect(await ended).toBe(0);
  return output;
}
