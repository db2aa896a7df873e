import { EventEmitter, once } from 'node:events';
import { openLedger } from '@custody/ledger';
import { expect, test } from 'vitest';
import { collect } from '../support/collect.ts';
import { countKills } from '../support/figures.ts';
import { servedLedger } from '../support/served-pair.ts';

const WRITERS = 4;
const COMMANDS = 40;
const KILLS = 3;

test('a node that is killed again and again under its clients does everything that they asked for, once', async () => {
  const served = await servedLedger();
  let node = await served.startNode('primary');
  const { url, port } = node;
  const clients = await Promise.all(
    Array.from({ length: WRITERS }, () => openLedger(url, { patienceMs: 60_000 })),
  );
  const [first] = clients;
  await first?.tasks.create({ taskId: 't-1', title: 'work' });
  let carriedOut = 0;
  const progress = new EventEmitter();
  const workers = clients.map(async (ledger, writer) => {
    for (let index = 0; index < COMMANDS; index += 1) {
      const body = `${writer}:${index}`;
      const done = await ledger.tasks.comment({ taskId: 't-1', author: 'ann', body });
      expect(done.outcome).toBe('commented');
      const task = await ledger.tasks.create({ title: body });
      if (task.outcome !== 'created') throw new Error(task.reason);
      const run = await ledger.runs.claim({ taskId: task.task_id, holder: `writer-${writer}` });
      if (run.outcome !== 'claimed') throw new Error(`${body}: ${run.reason}`);
      const held = { taskId: task.task_id, runId: run.run_id, fence: run.fence };
      expect(await ledger.runs.complete({ ...held, result: body })).toMatchObject({ outcome: 'completed' });
      carriedOut += 4;
      progress.emit('done');
    }
  });
  const working = Promise.all(workers);
  for (let kill = 1; kill <= KILLS; kill += 1) {
    while (carriedOut < (kill * WRITERS * COMMANDS * 4) / (KILLS + 1)) await once(progress, 'done');
    await node.kill();
    node = await served.startNode('primary', { port });
  }
  await working;

  const ledger = await openLedger(served.store);
  const comments = (await collect(ledger.read({ type: 'task.commented' }))).map(({ event }) => event['body']);
  countKills('served nodes', KILLS, WRITERS * COMMANDS - new Set(comments).size);
  expect(new Set(comments).size).toBe(WRITERS * COMMANDS);
  expect(comments).toHaveLength(WRITERS * COMMANDS);
  for (const type of ['run.started', 'task.completed'])
    expect(await collect(ledger.read({ type }))).toHaveLength(WRITERS * COMMANDS);
  expect(await ledger.verify({ rebuild: true })).toMatchObject({ ok: true, problems: [] });
  await ledger.close();
});
