import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { expect, onTestFinished, test } from 'vitest';
import { shaped, toLines } from '../support/cli.ts';
import { CLI_SCHEMAS } from '../support/cli-schemas.ts';
import { filledStore } from '../support/cli-store.ts';

/** An executor that knows some runs by their state; of every other run it says 404. Answers its URL template and what it was asked. */
async function executor(
  states: Readonly<Record<string, object>>,
): Promise<{ readonly template: string; readonly asked: readonly string[] }> {
  const asked: string[] = [];
  const server = createServer((request, response) => {
    asked.push(`${request.method} ${request.url}`);
    const state = states[request.url?.split('/').at(-1) ?? ''];
    response.writeHead(state === undefined ? 404 : 200, { 'content-type': 'application/json' });
    response.end(JSON.stringify(state ?? {}));
  });
  await new Promise<void>((resolve) => {
    server.listen(0, '127.0.0.1', resolve);
  });
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  return { template: `http://127.0.0.1:${(server.address() as AddressInfo).port}/runs/{run_id}`, asked };
}

test('sweep --gateway asks the executor for runs without a living owner, settles them and heals their rows', async () => {
  const bench = await filledStore();
  const { template, asked } = await executor({
    'run-2': { state: 'succeeded', cost_usd: 0.5, spend_disclosed: true },
  });

  const report = shaped(
    CLI_SCHEMAS.sweep,
    (await bench.json(['sweep', '--live', '', '--gateway', `http:${template}`])).value,
  );

  expect(asked).toEqual(['GET /runs/run-2']);
  expect(report.orphans).toContainEqual(
    expect.objectContaining({ run_id: 'run-2', action: 'settle_attempted' }),
  );
  expect(report.refreshed).toEqual(['t-1']);
  expect((await bench.json(['inspect', 'run', 'run-2'])).value).toMatchObject({
    settled: true,
    terminal_state: 'succeeded',
  });
});

test('an executor that has no such run closes it as absent', async () => {
  const bench = await filledStore();
  const { template } = await executor({});

  const report = shaped(
    CLI_SCHEMAS.sweep,
    (await bench.json(['sweep', '--live', '', '--gateway', template])).value,
  );

  expect(report.orphans).toContainEqual(expect.objectContaining({ run_id: 'run-2', action: 'absent' }));
  expect((await bench.json(['inspect', 'run', 'run-2'])).value).toMatchObject({
    settled: true,
    terminal_state: '',
  });
});

test('nobody is asked about a run whose owner is alive, or when liveness is not known (P15)', async () => {
  const bench = await filledStore();
  const { template, asked } = await executor({});

  const alive = shaped(
    CLI_SCHEMAS.sweep,
    (await bench.json(['sweep', '--live', 't-1', '--gateway', template])).value,
  );
  const unknown = shaped(CLI_SCHEMAS.sweep, (await bench.json(['sweep', '--gateway', template])).value);
  const dry = await bench.json(['sweep', '--live', '', '--gateway', template, '--dry-run']);

  expect(asked).toEqual([]);
  expect(alive.orphans).toEqual([]);
  expect(unknown.orphans).toEqual([]);
  expect(dry.code).toBe(0);
  expect((await bench.json(['inspect', 'run', 'run-2'])).value).toMatchObject({ settled: false });
});

test('an executor that is away changes nothing but is told of', async () => {
  const bench = await filledStore();

  const report = shaped(
    CLI_SCHEMAS.sweep,
    (await bench.json(['sweep', '--live', '', '--gateway', 'http:http://127.0.0.1:1/runs/{run_id}'])).value,
  );

  expect(report.orphans).toContainEqual(expect.objectContaining({ run_id: 'run-2', action: 'unreadable' }));
  expect((await bench.json(['inspect', 'run', 'run-2'])).value).toMatchObject({ settled: false });
});

test('a run whose start names no process is unknown to the process gateway', async () => {
  const bench = await filledStore();
  await bench.run(['event', 'append'], { stdin: toLines({ type: 'x.note' }) });

  const { code } = await bench.json(['sweep', '--live', '', '--gateway', 'process']);

  expect(code).toBe(0);
  expect((await bench.json(['inspect', 'run', 'run-2'])).value).toMatchObject({ settled: false });
});
