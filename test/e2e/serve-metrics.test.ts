import { openLedger } from '@custody/ledger';
import { expect, test } from 'vitest';
import { cliBench, parseLines, toLines } from '../support/cli.ts';
import { EVENTS } from '../support/cli-store.ts';
import type { RunningNode } from '../support/running-node.ts';
import { NODE_STORE, startNode, tell } from '../support/running-node.ts';

/** The figures of a node by name and labels. */
async function figuresOf(node: RunningNode): Promise<ReadonlyMap<string, number>> {
  const answer = await node.ask('/metrics');
  expect(answer.status).toBe(200);
  expect(answer.headers.get('content-type')).toContain('text/plain; version=0.0.4');
  return new Map(
    answer.text
      .split('\n')
      .filter((line) => line !== '' && !line.startsWith('#'))
      .map((line): [string, number] => {
        const space = line.lastIndexOf(' ');
        return [line.slice(0, space), Number(line.slice(space + 1))];
      }),
  );
}

test('tells every figure that an operator watches', async () => {
  const bench = cliBench();
  await bench.run(['-s', NODE_STORE, 'event', 'append'], { stdin: EVENTS });
  const node = await startNode(bench);
  await node.put('r-1', 'x');
  await node.get('nothing');

  const figures = await figuresOf(node);

  expect(Object.fromEntries([...figures].filter(([name]) => /^custody_(?!http)/.test(name)))).toEqual({
    custody_up: 1,
    custody_node_is_primary: 1,
    custody_node_is_fenced: 0,
    custody_oldest_unreconciled_age_seconds: expect.any(Number),
    'custody_obligations{kind="open_run"}': 1,
    'custody_obligations{kind="pending_invocation"}': 1,
    'custody_obligations{kind="undisposed_patch"}': 1,
    'custody_obligations{kind="open_question"}': 0,
    'custody_obligations{kind="open_fault"}': 0,
    custody_cursor_lag: 5,
    custody_deferred: 0,
    custody_parked_items: 0,
    custody_tasks: 0,
    custody_runs: 2,
    custody_head_seq: 5,
    custody_epoch: 1,
  });
  expect(figures.get('custody_oldest_unreconciled_age_seconds')).toBeGreaterThan(0);
  const requests = (labels: string) => figures.get(`custody_http_request_duration_seconds_count{${labels}}`);
  expect(requests('method="PUT",route="/records/*",status="204"')).toBe(1);
  expect(requests('method="GET",route="/records/*",status="404"')).toBe(1);
});

test('tells when passes ran, of whichever process, and whether the node takes writes', async () => {
  const bench = cliBench();
  await bench.run(['-s', NODE_STORE, 'event', 'append'], { stdin: EVENTS });
  await bench.run(['-s', NODE_STORE, 'sweep']);
  const node = await startNode(bench);

  const before = await figuresOf(node);
  expect(before.get('custody_last_pass_timestamp_seconds{pass="sweep"}')).toBeGreaterThan(1_700_000_000);
  expect(before.get('custody_last_pass_failed{pass="sweep"}')).toBe(0);
  expect(before.get('custody_cursor_lag')).toBe(0);

  tell(bench, 'primary.fenced', 'primary fenced at epoch 2');
  const after = await figuresOf(node);
  expect([after.get('custody_node_is_primary'), after.get('custody_node_is_fenced')]).toEqual([0, 1]);
});

test('heals rows while it is primary, and another node that is promoted goes on with it', async () => {
  const bench = cliBench();
  await bench.run(['-s', NODE_STORE, 'event', 'append'], { stdin: EVENTS });
  await bench.run(['-s', NODE_STORE, 'task', 'put'], {
    stdin: toLines({ task_id: 't-1', status: 'failed', delegated_runs_unreconciled: ['run-1', 'run-2'] }),
  });
  const ledger = await openLedger(`sqlite:${bench.path('custody.db')}`, { create: false });
  const owed = async () => (await ledger.rows.load('t-1'))?.row.value['delegated_runs_unreconciled'];
  const standby = await startNode(bench, 'replica', ['--reconcile', '100ms']);
  expect(await owed()).toEqual(['run-1', 'run-2']);

  const node = await startNode(bench, 'primary', ['--reconcile', '100ms']);
  await expect.poll(owed, { timeout: 30_000 }).toEqual(['run-2', 'invocation:inv-1', 'patch:run-1']);
  node.child.kill('SIGTERM');
  const { code, stderr } = await node.ended;
  expect(code).toBe(0);
  expect(parseLines(stderr)).toContainEqual(
    expect.objectContaining({ msg: 'backfill', trigger: 'boot_backfill', refreshed: ['t-1'] }),
  );

  await ledger.append([{ type: 'run.settled', run_id: 'run-2', state: 'failed' }]);
  tell(bench, 'replica.role', 'primary');
  await expect.poll(owed, { timeout: 30_000 }).not.toContain('run-2');
  await ledger.close();
  standby.child.kill('SIGTERM');
  expect((await standby.ended).code).toBe(0);
});
