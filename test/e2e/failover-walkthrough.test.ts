import { execFile } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { describe, expect, test } from 'vitest';
import type { ListeningProcess, Pair } from '../support/served-pair.ts';
import { carriedOut, put, startPair } from '../support/served-pair.ts';
import { SERVED_STORES } from '../support/served-stores.ts';

const SCRIPT = fileURLToPath(new URL('./failover-walkthrough.sh', import.meta.url));

/** Things that hold. The write is found the second time, so it is not made again. */
const CHECKS = { first: 20, again: 19 };

/** Runs the script. It needs curl: what a person on call types is what is tried here, so nothing stands in for it. */
function walkThrough(
  proxy: ListeningProcess,
  old: ListeningProcess,
): Promise<{ readonly code: number; readonly lines: readonly string[] }> {
  return new Promise((resolve, reject) => {
    execFile('sh', [SCRIPT, proxy.url, old.url, 'r-4', 'héllo ✓'], (error, stdout, stderr) => {
      if (stderr.includes('curl: not found')) return reject(new Error('this test needs curl; install it'));
      const lines = `${stdout}${stderr}`.trimEnd().split('\n');
      resolve({ code: error === null ? 0 : Number(error.code ?? -1), lines });
    });
  });
}

function expectWalkedThrough({ code, lines }: Awaited<ReturnType<typeof walkThrough>>, checks: number): void {
  expect(lines.filter((line) => !line.startsWith('ok: '))).toEqual([]);
  expect({ code, checks: lines.length }).toEqual({ code: 0, checks });
}

async function failedOver(url?: string): Promise<Pair> {
  const pair = await startPair(url);
  for (const id of ['r-1', 'r-2', 'r-3']) expect(await put(pair.proxy.url, id, `text of ${id}`)).toBe(204);
  await pair.primary.kill();
  carriedOut(await pair.failover('promote', '--mark-failed'));
  return pair;
}

describe.each(SERVED_STORES)('the walk-through of a failover on $name', ({ url }) => {
  test('T1 and T2 hold with curl, and again after a restart of every process', async () => {
    const pair = await failedOver(await url());
    expectWalkedThrough(await walkThrough(pair.proxy, pair.primary), CHECKS.first);

    await Promise.all([pair.proxy.stop(), pair.replica.stop()]);
    await pair.startNode('replica', { port: pair.replica.port });
    await pair.startProxy(pair.proxy.port);

    expectWalkedThrough(await walkThrough(pair.proxy, pair.primary), CHECKS.again);
  });
});

test('the walk-through stops at the first thing that does not hold', async () => {
  const pair = await failedOver();
  await pair.replica.kill();

  const { code, lines } = await walkThrough(pair.proxy, pair.primary);

  expect(code).toBe(1);
  expect(lines).toEqual(["NOT ok: GET /health is 200: expected '200', found '502'"]);
});
