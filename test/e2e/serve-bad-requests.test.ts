import { readFileSync } from 'node:fs';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { cliBench } from '../support/cli.ts';
import { badRequest, MAX_BODY, send } from '../support/raw-request.ts';
import { openRawSqlite } from '../support/raw-sqlite.ts';
import { startNode } from '../support/running-node.ts';

/** Random and mutated requests, so many at one time: 2,000. */
const RUNS = 100;
const AT_ONCE = 20;

/** For requests that are certain to be answered. */
const PATIENCE_MS = 30_000;

/** One request for each guard, so that no run leaves one out by chance. */
const FOR_EACH_GUARD: readonly (readonly [status: number, head: string, body: string])[] = [
  [200, 'GET /records/r-1 HTTP/1.1', ''],
  [400, 'GET /records/%zz HTTP/1.1', ''],
  [404, 'GET /records/none HTTP/1.1', ''],
  [405, 'DELETE /records/r-1 HTTP/1.1', ''],
  [413, 'PUT /records/r-1 HTTP/1.1', 'x'.repeat(MAX_BODY + 1)],
  [431, `GET /records/r-1 HTTP/1.1\r\nx: ${'y'.repeat(64_000)}`, ''],
];

/** Everything that the records of a store are. */
function recordsIn(path: string): unknown {
  const session = openRawSqlite(path);
  try {
    return session
      .prepare('select ledger, record_id, hex(body) as body, sha256 from served_record order by record_id')
      .all();
  } finally {
    session.close();
  }
}

test('P14 2,000 bad requests: each is refused or answered, nothing is changed, and the server lives', async () => {
  const bench = cliBench();
  const node = await startNode(bench, 'primary', ['--max-body', String(MAX_BODY)]);
  await node.put('r-1', 'kept ✓');
  await node.put('r-2', 'kept, too');
  const file = bench.path('custody.db');
  const before = recordsIn(file);
  const wal = () => readFileSync(`${file}-wal`).length;
  const written = wal();

  for (const [status, head, body] of FOR_EACH_GUARD) {
    const text = `${head}\r\nhost: x\r\nconnection: close\r\ncontent-length: ${body.length}\r\n\r\n${body}`;
    const request = { bytes: Buffer.from(text), cutAt: text.length, what: `for ${status}` };
    expect([request.what, await send(node.port, request, PATIENCE_MS)]).toEqual([request.what, [status]]);
  }
  await fc.assert(
    fc.asyncProperty(fc.array(badRequest, { minLength: AT_ONCE, maxLength: AT_ONCE }), async (requests) => {
      const answers = await Promise.all(requests.map((request) => send(node.port, request)));
      for (const [index, statuses] of answers.entries())
        for (const status of statuses) {
          const isFault = status >= 500 && status !== 502 && status !== 503;
          // A refused request never reads as one that was carried out.
          if (isFault || status === 204) expect.fail(`${status} to ${JSON.stringify(requests[index])}`);
        }
    }),
    { numRuns: RUNS },
  );

  expect(recordsIn(file)).toEqual(before);
  expect(wal()).toBe(written);
  expect((await node.ask('/health')).text).toBe('ready');
  expect((await node.get('r-1')).text).toBe('kept ✓');
  expect(node.log()).toBe('');
  node.child.kill('SIGTERM');
  expect((await node.ended).code).toBe(0);
});
