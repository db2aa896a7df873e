import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { setTimeout as delay } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { openLedger } from '@custody/ledger';
import { expect, it, onTestFinished } from 'vitest';
import { plainSession, takeLedger } from '../support/postgres.ts';

const WORKER = fileURLToPath(new URL('../support/batch-worker.mjs', import.meta.url));

const IS_LONG = process.env['CUSTODY_TEST_LONG'] !== undefined;
const PROCESSES = 4;
const HANDLES = 4;
const EVENTS = IS_LONG ? 20_000 : 500;
const BATCH = IS_LONG ? 100 : 20;
const TOTAL = PROCESSES * HANDLES * EVENTS;
/** How long a transaction is left open in between, in milliseconds. */
const OPEN_MS = IS_LONG ? 30_000 : 2_000;

/** A process with four connections that append; it starts when it is told to. */
async function startBatches(url: string, name: string): Promise<{ go(): Promise<void> }> {
  const child = spawn(process.execPath, [WORKER, url, name, String(HANDLES), String(EVENTS), String(BATCH)], {
    stdio: ['pipe', 'pipe', 'inherit'],
  });
  const closed = once(child, 'close');
  const lines = createInterface({ input: child.stdout });
  await Promise.race([once(lines, 'line'), closed]);
  return {
    go: async () => {
      child.stdin.write('go\n');
      const [code] = (await closed) as [number];
      if (code !== 0) throw new Error(`the process ended with ${code}`);
    },
  };
}

it(
  `P7: a reader that follows 16 connections sees ${TOTAL} events, each once and in order, whoever leaves a transaction open`,
  async () => {
    const place = await takeLedger();
    onTestFinished(place.giveBack);
    await using ledger = await openLedger(place.url);
    const names = Array.from({ length: PROCESSES }, (_, index) => `p${index}`);
    const processes = await Promise.all(names.map((name) => startBatches(place.url, name)));
    const { schema } = Object.fromEntries(new URL(place.url).searchParams);
    const session = await plainSession();

    const began = performance.now();
    const running = Promise.all(processes.map(({ go }) => go()));
    // A snapshot that nobody ends, taken amid the appends: what commits later must not be skipped, nor wait for it.
    const open = (async () => {
      await delay(200);
      await session.query(`begin isolation level repeatable read; select from ${schema}.ledger_head;
        create temporary table held_${process.pid} (id int) on commit drop; insert into held_${process.pid} values (1)`);
      const before = (await ledger.head()).seq;
      await delay(OPEN_MS);
      const after = (await ledger.head()).seq;
      await session.query('commit');
      return after - before;
    })();

    const ids = new Set<string>();
    let seen = 0;
    while (seen < TOTAL) {
      for await (const { event } of ledger.read({ after: seen })) {
        if (event.seq !== seen + 1) throw new Error(`after ${seen} came ${event.seq}`);
        seen = event.seq;
        ids.add(event.id);
      }
    }
    const took = performance.now() - began;
    await running;

    expect(await open).toBeGreaterThan(0);
    expect(ids.size).toBe(TOTAL);
    expect((await ledger.head()).seq).toBe(TOTAL);
    if (IS_LONG) process.stdout.write(`${TOTAL} events in ${Math.round(took)} ms\n`);
    expect(await ledger.verify({ rebuild: !IS_LONG })).toMatchObject({ ok: true, events: TOTAL });
  },
  IS_LONG ? 900_000 : undefined,
);
