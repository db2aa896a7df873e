import type { ChildProcess } from 'node:child_process';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { Ledger } from '@custody/ledger';
import { openLedger } from '@custody/ledger';
import { fileRequestBodies, httpGateway, reconcileOrphans } from '@custody/reconciler';
import { expect, onTestFinished, test } from 'vitest';
import { started } from '../support/events.ts';
import type { HttpExecutor } from '../support/http-executor.ts';
import { httpExecutor, reply } from '../support/http-executor.ts';
import { eventsOf } from '../support/log.ts';

const here = dirname(fileURLToPath(import.meta.url));

interface Place {
  readonly url: string;
  readonly bodies: string;
  readonly ledger: Ledger;
}

const STORES = [
  { store: 'sqlite', urlIn: (folder: string) => `sqlite:${join(folder, 'custody.db')}` },
  { store: 'jsonl', urlIn: (folder: string) => `jsonl:${join(folder, 'root')}` },
];

async function place(urlIn: (folder: string) => string): Promise<Place> {
  const folder = mkdtempSync(join(tmpdir(), 'custody-processes-'));
  const url = urlIn(folder);
  const ledger = await openLedger(url);
  onTestFinished(async () => {
    await ledger.close();
    rmSync(folder, { recursive: true, force: true });
  });
  return { url, bodies: join(folder, 'bodies'), ledger };
}

/** A process of its own that runs a program with the packages as they were built. */
function processOf(program: string, args: readonly string[]): ChildProcess {
  const child = spawn(process.execPath, ['--input-type=module', '-e', program, ...args], {
    cwd: here,
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  onTestFinished(() => {
    child.kill('SIGKILL');
  });
  return child;
}

const SWEEP = `
  import { openLedger } from '@custody/ledger';
  import { fileRequestBodies, httpGateway, reconcileOrphans } from '@custody/reconciler';
  const [url, server, bodies, books] = process.argv.slice(1);
  const ledger = await openLedger(url, { create: false });
  const costs = books === undefined ? undefined : {
    record: async ({ key }) => { await fetch(server + '/books', { method: 'POST', body: key }); },
  };
  const report = await reconcileOrphans({ ledger, rows: ledger.rows }, {
    live: [], costs, bodies: fileRequestBodies(bodies),
    gateway: () => httpGateway({ runUrl: server + '/runs/{run_id}', startUrl: server + '/runs', timeoutMs: 60000 }),
  });
  console.log(JSON.stringify(report.outcomes));
  await ledger.close();
`;

const START = `
  import { openLedger } from '@custody/ledger';
  import { createStarter, fileRequestBodies, httpGateway } from '@custody/reconciler';
  const [url, server, bodies] = process.argv.slice(1);
  const ledger = await openLedger(url, { create: false });
  const gateway = httpGateway({ runUrl: server + '/runs/{run_id}', startUrl: server + '/runs' });
  const { start } = createStarter({ ledger, gateway, bodies: fileRequestBodies(bodies) });
  await start({ task_id: 't-1', request: { prompt: 'do it' }, facts: { route: 'claude' } });
`;

async function outputOf(child: ChildProcess): Promise<unknown> {
  let text = '';
  child.stdout?.on('data', (chunk: Buffer) => {
    text += chunk.toString('utf8');
  });
  await once(child, 'close');
  return JSON.parse(text);
}

function sweepHere({ ledger, bodies }: Place, server: HttpExecutor) {
  return reconcileOrphans(
    { ledger, rows: ledger.rows },
    {
      live: [],
      bodies: fileRequestBodies(bodies),
      gateway: () => httpGateway({ runUrl: `${server.url}/runs/{run_id}`, startUrl: `${server.url}/runs` }),
    },
  );
}

test.each(STORES)(
  'O15: two processes that sweep one store at once write each end once ($store)',
  async ({ urlIn }) => {
    const { url, bodies, ledger } = await place(urlIn);
    const ids = Array.from({ length: 16 }, (_item, index) => `run-${index}`);
    await ledger.append(ids.map((id) => started(id, `t-${id}`)));
    const server = await httpExecutor();
    const waiting: (() => void)[] = [];
    server.answer = (_request, response) => {
      waiting.push(() => reply(response, 200, { state: 'succeeded', cost_usd: 1.25, spend_disclosed: true }));
      // Eight questions of each process stand: both found the same runs open, and now both end them.
      if (waiting.length >= 16) for (const answer of waiting.splice(0)) answer();
    };

    const outcomes = await Promise.all(
      [1, 2].map(() => outputOf(processOf(SWEEP, [url, server.url, bodies]))),
    );

    for (const list of outcomes) expect(list).toMatchObject(ids.map((id) => ({ run_id: id, settled: true })));
    expect(server.heard).toHaveLength(32);
    expect(await eventsOf(ledger, 'run.settled')).toHaveLength(16);
    expect(await eventsOf(ledger, 'run.reconciled')).toHaveLength(16);
    expect(await ledger.custody.openRuns()).toEqual([]);
  },
);

test.each(STORES)(
  'O6: a starter that is killed while its request is under way leaves one run, which a sweep finds ($store)',
  async ({ urlIn }) => {
    const world = await place(urlIn);
    const server = await httpExecutor();
    const runOfKey = new Map<string, string>();
    const asked = new Promise<void>((resolve) => {
      server.answer = (request) => {
        runOfKey.set(String(request.headers['idempotency-key']), 'run-1');
        resolve();
      };
    });
    const starter = processOf(START, [world.url, server.url, world.bodies]);
    await asked;
    starter.kill('SIGKILL');
    await once(starter, 'exit');
    const [pending] = await world.ledger.custody.pendingInvocations();
    expect([...runOfKey.keys()]).toEqual([pending?.invocation_id]);

    server.answer = (request, response) => {
      if (request.method === 'GET') return reply(response, 200, { state: 'running' });
      const key = String(request.headers['idempotency-key']);
      if (!runOfKey.has(key)) runOfKey.set(key, `run-${runOfKey.size + 1}`);
      return reply(response, 200, { run_id: runOfKey.get(key) });
    };
    const report = await sweepHere(world, server);

    expect(report.outcomes).toMatchObject([
      { run_id: 'run-1', invocation_id: pending?.invocation_id, action: 'left_live' },
    ]);
    expect(runOfKey.size).toBe(1);
    expect(server.heard.filter((heard) => heard.method === 'POST').map((heard) => heard.body)).toEqual([
      '{"prompt":"do it"}',
      '{"prompt":"do it"}',
    ]);
    expect((await world.ledger.custody.openRuns()).map((run) => run.run_id)).toEqual(['run-1']);
    expect(await world.ledger.custody.pendingInvocations()).toEqual([]);
  },
);

test.each(STORES)(
  '8.4: a sweep that is killed after it booked a cost is gone on with: booked under the same key, ended once ($store)',
  async ({ urlIn }) => {
    const world = await place(urlIn);
    await world.ledger.append([started('run-1', 't-1')]);
    const server = await httpExecutor();
    const booked: string[] = [];
    const isBooked = new Promise<void>((resolve) => {
      server.answer = (request, response) => {
        if (request.path !== '/books')
          return reply(response, 200, { state: 'succeeded', cost_usd: 1.25, spend_disclosed: true });
        booked.push(request.body);
        // The answer never comes, so the process can be killed with the cost booked and nothing said of it.
        if (booked.length === 1) return resolve();
        return reply(response, 200);
      };
    });
    const killed = processOf(SWEEP, [world.url, server.url, world.bodies, 'books']);
    await isBooked;
    killed.kill('SIGKILL');
    await once(killed, 'exit');
    expect((await world.ledger.custody.run('run-1'))?.ledger_recorded).toBe(false);

    const outcomes = await outputOf(processOf(SWEEP, [world.url, server.url, world.bodies, 'books']));

    expect(outcomes).toMatchObject([{ run_id: 'run-1', settled: true, ledger_recorded: true }]);
    expect(booked).toEqual(['run-1', 'run-1']);
    expect(await eventsOf(world.ledger, 'run.ledger_recorded', 'run.settled')).toHaveLength(2);
  },
);
