import { once } from 'node:events';
import { expect, test } from 'vitest';
import { z } from 'zod';
import type { CliBench } from '../support/cli.ts';
import { cliBench, parseLines, shaped, toLines } from '../support/cli.ts';
import { PROMISED } from '../support/cli-contract.ts';
import { CLI_SCHEMAS } from '../support/cli-schemas.ts';
import { makeBoard } from '../support/kanban-board.ts';

type Name = keyof typeof CLI_SCHEMAS;

// A unit test holds the shapes against the command line: there is one for every command.

/** Commands that have suites of their own: they serve, sign, simulate, or show off. */
const ELSEWHERE: ReadonlySet<string> = new Set([
  'demo',
  'simulate',
  'serve',
  'proxy',
  'failover status',
  'failover promote',
  'ledger checkpoint',
]);

/** Runs commands one after the other and holds what each prints against its shape and its promise. */
class Story {
  readonly told = new Set<string>();
  readonly #bench: CliBench;

  constructor(bench: CliBench) {
    this.#bench = bench;
  }

  /** Runs a command to its end; every document that it prints is checked. The first one comes back. */
  async run(name: Name, args: readonly string[] = [], stdin = ''): Promise<Record<string, unknown>> {
    const { code, stdout, stderr } = await this.#bench.run(['--json', ...name.split(' '), ...args], {
      stdin,
    });
    // The loop logs on stderr; nothing else that succeeds has anything to say there.
    const said = name === 'reconcile' ? '' : stderr;
    expect({ name, args, code, stdout, said }).toMatchObject({ code: 0, said: '' });
    return this.check(name, parseLines(stdout));
  }

  check(name: Name, documents: readonly unknown[]): Record<string, unknown> {
    expect({ name, documents: documents.length }).not.toMatchObject({ documents: 0 });
    for (const document of documents) {
      shaped(CLI_SCHEMAS[name], document);
      for (const field of PROMISED[name] ?? [])
        expect(document, `${name} promises ${field}`).toHaveProperty(field);
    }
    this.told.add(name);
    return z.record(z.string(), z.unknown()).parse(documents[0]);
  }
}

/** The options of a claim's holder. */
function under(claim: Record<string, unknown>): readonly string[] {
  return ['--run', String(claim['run_id']), '--fence', String(claim['fence'])];
}

async function tellObserved(story: Story, bench: CliBench): Promise<void> {
  await story.run('init');
  const start = { type: 'run.started', task_id: 't-1', run_id: 'r-1', snapshot_id: 's-1' };
  await story.run('event append', [], toLines(start, { type: 'run.started', task_id: 't-1', run_id: 'r-2' }));
  await story.run(
    'task put',
    [],
    toLines({ task_id: 't-1', status: 'failed', delegated_runs_unreconciled: ['r-1', 'r-2'] }),
  );
  await story.run('append', [], toLines({ type: 'run.settled', run_id: 'r-1', state: 'succeeded' }));
  makeBoard(bench.path('kanban.db')).close();
  await story.run('event import', ['kanban.db']);
  for (const name of ['backfill', 'sweep'] as const) await story.run(name, ['--dry-run']);
  await story.run('clear', ['t-1', '--dry-run']);
  for (const name of [
    'backfill',
    'sweep',
    'stats',
    'verify',
    'task list',
    'event list',
    'event export',
  ] as const)
    await story.run(name);
  for (const name of ['clear', 'explain', 'handoff', 'inspect task', 'task get'] as const)
    await story.run(name, ['t-1']);
  await story.run('inspect run', ['r-1']);
  await story.run('audit', ['--all']);
  await story.run('audit', ['--as-of', '3']);
  await story.run('reconcile', ['--once']);
  await story.run('backup', ['copy.db']);
}

async function tellManaged(story: Story): Promise<void> {
  const create = (id: string, ...args: readonly string[]) =>
    story.run('task create', ['--id', id, '--title', `title of ${id}`, ...args]);
  const claim = (id: string) => story.run('run claim', ['--holder', 'alice', '--task', id]);
  for (const id of ['m-1', 'm-2', 'm-3', 'm-4', 'm-5', 'm-6']) await create(id);
  await create('m-7', '--triage');
  await create('m-8', '--triage');
  const first = await claim('m-1');
  await story.run('run heartbeat', under(first));
  await story.run('run push', [...under(first), '--state', 'working', '--note', 'half of it']);
  const submit = [...under(first), '--task', 'm-1', '--key', 'k-1', '--value', 'v'];
  await story.run('run submit', submit);
  await story.run('run refresh', ['--run', String(first['run_id']), '--holder', 'alice']);
  const ask = ['--question', 'Which one?', '--option', 'a', '--option', 'b'];
  const asked = await story.run('run ask', [...under(first), ...ask]);
  await story.run('question answer', [String(asked['question_id']), '--option', 'a']);
  await story.run('question deliveries', under(first));
  await story.run('question ack', [String(asked['question_id']), ...under(first)]);
  const journal = [
    '--dir',
    'journals',
    '--task',
    'm-1',
    '--run',
    String(first['run_id']),
    '--result',
    'kept',
  ];
  await story.run('journal write', journal);
  await story.run('journal recover', ['journals']);
  const second = await claim('m-2');
  await story.run('run complete', [...under(second), '--task', 'm-2', '--result', 'r', '--summary', 's']);
  const third = await claim('m-3');
  await story.run('run fail', [...under(third), '--task', 'm-3', '--reason', 'no']);
  const fourth = await claim('m-4');
  await story.run('run block', [...under(fourth), '--task', 'm-4', '--reason', 'no', '--kind', 'capability']);
  await story.run('task unblock', ['m-4']);
  const fifth = await claim('m-5');
  await story.run('run park', [...under(fifth), ...ask]);
  const sixth = await claim('m-6');
  const reclaim = ['--task', 'm-6', '--run', String(sixth['run_id']), '--reason', 'gone'];
  await story.run('run reclaim', reclaim);
  await story.run('run list', ['--task', 'm-1']);
  await story.run('question list');
  await story.run('inspect run', [String(first['run_id'])]);
  await story.run('task assign', ['m-6', '--to', 'bob']);
  await story.run('task comment', ['m-6', '--author', 'ann', '--body', 'hm']);
  await story.run('task block', ['m-6', '--reason', 'wait']);
  await story.run('task promote', ['m-6', '--operator', 'ann']);
  await story.run('task link', ['m-6', '--parent', 'm-2']);
  await story.run('task specify', ['m-7', '--title', 'clear now', '--author', 'ann']);
  await story.run('task decompose', ['m-8', '--child', 'm-9=a part']);
  await story.run('task complete', ['m-4', '--operator', 'ann', '--result', 'done by hand']);
  await story.run('task cancel', ['m-7']);
  await story.run('task archive', ['m-7']);
}

/** Starts following, appends one event, and stops. */
async function tellFollowed(story: Story, bench: CliBench): Promise<void> {
  const child = bench.start(['--json', 'event', 'follow', '--after', '0', '--interval', '20ms']);
  let output = '';
  child.stdout.on('data', (piece: Buffer) => {
    output += piece.toString('utf8');
  });
  await once(child.stdout, 'data');
  child.kill('SIGINT');
  await once(child, 'close');
  story.check('event follow', parseLines(output));
}

test('every command prints with --json the shape that is documented, and every field that is promised', async () => {
  const bench = cliBench();
  const story = new Story(bench);

  await tellObserved(story, bench);
  await tellManaged(story);
  await tellFollowed(story, bench);

  const expected = Object.keys(CLI_SCHEMAS).filter((name) => !ELSEWHERE.has(name));
  expect(new Set(story.told)).toEqual(new Set(expected));
  expect(new Set(Object.keys(PROMISED))).toEqual(new Set(expected));
});
