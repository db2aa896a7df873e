import type { JsonObject, RunRecord } from '@custody/ledger';
import { openLedger } from '@custody/ledger';
import type { HttpGatewayOptions, Submission } from '@custody/reconciler';
import { createReconciler, httpGateway } from '@custody/reconciler';
import { describe, expect, test } from 'vitest';
import { started } from '../support/events.ts';
import type { HttpExecutor } from '../support/http-executor.ts';
import { httpExecutor, reply } from '../support/http-executor.ts';
import { failedRow, listOf, putRow } from '../support/terminal-rows.ts';

async function runWith(facts: JsonObject = {}): Promise<RunRecord> {
  const ledger = await openLedger('memory:');
  await ledger.append([started('run-1', 't-1', facts)]);
  const run = await ledger.custody.run('run-1');
  if (run === null) throw new Error('run-1 was not started');
  return run;
}

function gatewayTo(server: HttpExecutor, more: Partial<HttpGatewayOptions> = {}) {
  return httpGateway({ runUrl: `${server.url}/runs/{run_id}`, startUrl: `${server.url}/runs`, ...more });
}

const SUBMISSION: Submission = {
  invocation_id: 'inv-1',
  task_id: 't-1',
  request: { prompt: 'do it' },
  facts: { route: 'claude' },
};

describe('a lookup over HTTP', () => {
  test('asks for the run by its id and reads its live state', async () => {
    const server = await httpExecutor();
    server.answer = (_request, response) => reply(response, 200, { state: 'waiting_on_user' });

    expect(
      await gatewayTo(server, { headers: { authorization: 'Bearer x' } }).lookup(await runWith()),
    ).toEqual({ outcome: 'live', state: 'waiting_on_user' });
    expect(server.heard).toMatchObject([
      { method: 'GET', path: '/runs/run-1', headers: { authorization: 'Bearer x' } },
    ]);
  });

  test('reads an ended state with what was disclosed, and nothing that was not', async () => {
    const server = await httpExecutor();
    server.answer = (_request, response) =>
      reply(response, 200, {
        state: 'failed',
        cost_usd: 0.5,
        spend_disclosed: true,
        model: 'm',
        outcome_reason: 'quota',
        tokens: 9,
      });

    expect(await gatewayTo(server).lookup(await runWith())).toEqual({
      outcome: 'terminal',
      detail: { state: 'failed', cost_usd: 0.5, spend_disclosed: true, model: 'm', outcome_reason: 'quota' },
    });
  });

  test('a spend that is not there is null, never 0', async () => {
    const server = await httpExecutor();
    server.answer = (_request, response) => reply(response, 200, { state: 'succeeded' });

    expect(await gatewayTo(server).lookup(await runWith())).toEqual({
      outcome: 'terminal',
      detail: { state: 'succeeded', cost_usd: null },
    });
  });

  test('status 404 means absent', async () => {
    const server = await httpExecutor();
    server.answer = (_request, response) => response.writeHead(404).end('no such run');

    expect(await gatewayTo(server).lookup(await runWith())).toEqual({ outcome: 'absent' });
  });

  test.each([400, 401, 403, 410, 429, 500, 502, 503])('status %i does not mean absent', async (status) => {
    const server = await httpExecutor();
    server.answer = (_request, response) => reply(response, status, { state: 'succeeded' });

    expect(await gatewayTo(server).lookup(await runWith())).toEqual({
      outcome: 'unknown',
      reason: `HTTP ${status}`,
    });
  });

  test('a redirect is not followed: the 404 at its end speaks for something else', async () => {
    const server = await httpExecutor();
    server.answer = (request, response) =>
      request.path === '/elsewhere'
        ? reply(response, 404)
        : response.writeHead(302, { location: '/elsewhere' }).end();

    expect(await gatewayTo(server).lookup(await runWith())).toEqual({
      outcome: 'unknown',
      reason: 'HTTP 302',
    });
    expect(server.heard.map((heard) => heard.path)).toEqual(['/runs/run-1']);
  });

  test.each<[string, string]>([
    ['that is no JSON', '<html>sign in</html>'],
    ['that is cut', '{"state": "succ'],
    ['that is a list', '["succeeded"]'],
    ['without a state', '{"cost_usd": 1}'],
    ['with a state that is a number', '{"state": 3}'],
    ['with a cost that is a text', '{"state": "succeeded", "cost_usd": "1.25"}'],
    ['with invalid UTF-8', '\u00ff'],
  ])('a body %s is unknown', async (title, body) => {
    const server = await httpExecutor();
    server.answer = (_request, response) =>
      response.writeHead(200).end(title === 'with invalid UTF-8' ? Buffer.from([0xff]) : body);

    expect(await gatewayTo(server).lookup(await runWith())).toMatchObject({ outcome: 'unknown' });
  });

  test('a body beyond its bound is unknown, and not read to its end', async () => {
    const server = await httpExecutor();
    let isStopped = false;
    server.answer = (_request, response) => {
      response.writeHead(200);
      const more = () => {
        while (response.write('x'.repeat(65_536)));
      };
      response.on('drain', more).on('close', () => {
        isStopped = true;
      });
      more();
    };

    const found = await gatewayTo(server, { maxBodyBytes: 100_000 }).lookup(await runWith());

    expect(found).toEqual({
      outcome: 'unknown',
      reason: 'UnreadableBodyError: the body is larger than 100000 bytes',
    });
    await expect.poll(() => isStopped).toBe(true);
  });

  test.each(['before its head', 'in its body'])(
    'an answer that hangs %s is unknown after the time-out',
    async (where) => {
      const server = await httpExecutor();
      server.answer = (_request, response) => {
        if (where === 'in its body')
          response.writeHead(200, { 'content-type': 'application/json' }).write('{"state":');
      };

      const found = await gatewayTo(server, { timeoutMs: 100 }).lookup(await runWith());

      expect(found).toMatchObject({ outcome: 'unknown' });
      expect(found).toHaveProperty('reason', expect.stringMatching(/Timeout|abort/i));
    },
  );

  test('a server that is not there, or hangs up, is unknown', async () => {
    const server = await httpExecutor();
    server.answer = (_request, response) => response.destroy();
    const gateway = gatewayTo(server);
    const run = await runWith();

    expect(await gateway.lookup(run)).toMatchObject({ outcome: 'unknown' });
    await server.close();
    const found = await gateway.lookup(run);
    expect(found).toHaveProperty('reason', expect.stringContaining('ECONNREFUSED'));
  });

  test.each<[string, JsonObject]>([
    ['missing', {}],
    ['one that climbs', { route: '..' }],
  ])(
    'a fact of the URL that is %s is unknown: the URL with a hole would answer 404',
    async (_title, facts) => {
      const server = await httpExecutor();
      const gateway = gatewayTo(server, { runUrl: `${server.url}/{route}/runs/{run_id}` });
      const ledger = await openLedger('memory:');
      await ledger.append([{ type: 'run.started', run_id: 'run-1', task_id: 't-1', ...facts }]);
      const run = await ledger.custody.run('run-1');

      expect(run === null ? null : await gateway.lookup(run)).toMatchObject({ outcome: 'unknown' });
      expect(server.heard).toEqual([]);
    },
  );

  test('facts are escaped into the URL', async () => {
    const server = await httpExecutor();
    const gateway = gatewayTo(server, { runUrl: `${server.url}/{route}/runs/{run_id}` });

    await gateway.lookup(await runWith({ route: 'a/b?c' }));

    expect(server.heard[0]?.path).toBe('/a%2Fb%3Fc/runs/run-1');
  });

  test('an executor with answers of its own is read by its own reader, whose errors are unknown', async () => {
    const server = await httpExecutor();
    server.answer = (_request, response) => reply(response, 200, { summary: { phase: 'RUNNING' } });
    const readRun: HttpGatewayOptions['readRun'] = (body) => {
      const summary = body['summary'] as JsonObject;
      return { outcome: 'live', state: String(summary['phase']).toLowerCase() };
    };

    expect(await gatewayTo(server, { readRun }).lookup(await runWith())).toEqual({
      outcome: 'live',
      state: 'running',
    });
    server.answer = (_request, response) => reply(response, 200, {});
    expect(await gatewayTo(server, { readRun }).lookup(await runWith())).toMatchObject({
      outcome: 'unknown',
    });
  });
});

describe('a stop over HTTP', () => {
  test.each<[number, JsonObject, JsonObject]>([
    [200, { accepted: true, status: 'cancelling' }, { outcome: 'accepted', status: 'cancelling' }],
    [202, {}, { outcome: 'accepted' }],
    [200, { accepted: false, status: 'too_late' }, { outcome: 'rejected', status: 'too_late' }],
    [404, {}, { outcome: 'absent' }],
    [409, { code: 'run_busy' }, { outcome: 'rejected', reason: 'run_busy' }],
    [500, {}, { outcome: 'unknown', reason: 'HTTP 500' }],
  ])('status %i with %j is %j', async (status, body, answer) => {
    const server = await httpExecutor();
    server.answer = (_request, response) => reply(response, status, body);

    expect(await gatewayTo(server).cancel(await runWith(), 'owner_task_gone')).toEqual(answer);
    expect(server.heard).toMatchObject([
      { method: 'POST', path: '/runs/run-1/cancel', body: '{"reason":"owner_task_gone"}' },
    ]);
  });

  test('an answer without content is an acceptance', async () => {
    const server = await httpExecutor();
    server.answer = (_request, response) => response.writeHead(204).end();

    expect(await gatewayTo(server).cancel(await runWith(), 'x')).toEqual({ outcome: 'accepted' });
  });
});

describe('a start over HTTP', () => {
  test.each<[number, JsonObject, JsonObject]>([
    [200, { run_id: 'run-7' }, { outcome: 'run', run_id: 'run-7' }],
    [
      201,
      { runId: 'run-7', facts: { model: 'm' } },
      { outcome: 'run', run_id: 'run-7', facts: { model: 'm' } },
    ],
    [202, { jobId: 'run-7' }, { outcome: 'run', run_id: 'run-7' }],
    [202, {}, { outcome: 'pending' }],
    [200, { run_id: '' }, { outcome: 'pending' }],
    [
      400,
      { code: 'bad_model', message: 'no such model' },
      { outcome: 'refused', code: 'bad_model', status: 400, reason: 'no such model' },
    ],
    [422, {}, { outcome: 'refused', code: 'http_422', status: 422 }],
    [500, {}, { outcome: 'unknown', reason: 'HTTP 500' }],
    [503, {}, { outcome: 'unknown', reason: 'HTTP 503' }],
  ])('status %i with %j is %j', async (status, body, answer) => {
    const server = await httpExecutor();
    server.answer = (_request, response) => reply(response, status, body);

    expect(await gatewayTo(server).resubmit(SUBMISSION)).toEqual(answer);
    expect(server.heard).toMatchObject([
      {
        method: 'POST',
        path: '/runs',
        body: '{"prompt":"do it"}',
        headers: { 'idempotency-key': 'inv-1', 'content-type': 'application/json' },
      },
    ]);
  });

  test.each<[string, unknown]>([
    ['a number', { run_id: 9_007_199_254_740_992 }],
    ['a path', { run_id: '../x' }],
  ])('a run id that is %s is unknown: it could not be kept', async (_title, body) => {
    const server = await httpExecutor();
    server.answer = (_request, response) => reply(response, 200, body);

    expect(await gatewayTo(server).resubmit(SUBMISSION)).toMatchObject({ outcome: 'unknown' });
  });

  test('without a startUrl nothing is ever started', async () => {
    const server = await httpExecutor();

    expect(await httpGateway({ runUrl: `${server.url}/runs/{run_id}` }).resubmit(SUBMISSION)).toMatchObject({
      outcome: 'unknown',
    });
    expect(server.heard).toEqual([]);
  });
});

test('a sweep over HTTP settles what ended, closes what is gone, and heals their rows', async () => {
  const server = await httpExecutor();
  const ledger = await openLedger('memory:');
  await ledger.append([started('run-1', 't-1'), started('run-2', 't-2'), started('run-3', 't-3')]);
  for (const n of ['1', '2', '3'])
    await putRow(
      ledger,
      failedRow(`t-${n}`, [`run-${n}`], { outcome_axes: { execution: { status: 'infra_failed' } } }),
    );
  server.answer = (request, response) => {
    if (request.path === '/runs/run-1')
      reply(response, 200, { state: 'succeeded', cost_usd: 1.25, spend_disclosed: true });
    else if (request.path === '/runs/run-2') reply(response, 404);
    else reply(response, 500);
  };

  const report = await createReconciler(ledger, {
    liveTaskIds: [],
    gateway: () => gatewayTo(server),
  }).sweep();

  expect(report).toMatchObject({
    refreshed: ['t-1', 't-2'],
    orphans: [
      { run_id: 'run-1', action: 'settle_attempted' },
      { run_id: 'run-2', action: 'absent' },
      { run_id: 'run-3', action: 'unreadable' },
    ],
  });
  expect(await listOf(ledger, 't-1')).toEqual([]);
  expect(await listOf(ledger, 't-3')).toEqual(['run-3']);
});
