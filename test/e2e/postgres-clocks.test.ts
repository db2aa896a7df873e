import { execFile } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import type { JsonObject } from '@custody/ledger';
import { openLedger, SETTINGS_DOCUMENT } from '@custody/ledger';
import { expect, onTestFinished, test } from 'vitest';
import { collect } from '../support/collect.ts';
import { plainSession, takeLedger } from '../support/postgres.ts';

const WORKER = fileURLToPath(new URL('../support/host-worker.mjs', import.meta.url));
const CLOCK = new URL('../support/shifted-clock.mjs', import.meta.url).href;
const TWO_HOURS = 7_200_000;

/** A step in a process whose host has a clock that is wrong by so much. */
async function onHost(
  shiftMs: number,
  url: string,
  { step, holder, ttlMs }: { readonly step: string; readonly holder: string; readonly ttlMs: number },
): Promise<JsonObject> {
  const { stdout } = await promisify(execFile)(
    process.execPath,
    ['--import', CLOCK, WORKER, url, step, holder, String(ttlMs)],
    { env: { ...process.env, CUSTODY_TEST_CLOCK_SHIFT_MS: String(shiftMs) } },
  );
  const { host_time, answer } = JSON.parse(stdout) as { host_time: string; answer: JsonObject };
  // The shift is real, or else nothing is shown.
  expect(Math.abs(Date.parse(host_time) - Date.now() - shiftMs)).toBeLessThan(60_000);
  return answer;
}

async function databaseTime(): Promise<number> {
  const { rows } = await (await plainSession()).query<{ now: number }>(
    'select floor(extract(epoch from clock_timestamp()) * 1000)::float8 as now',
  );
  return rows[0]?.now ?? 0;
}

test.each([
  ['behind', 'ahead', -TWO_HOURS],
  ['ahead', 'behind', TWO_HOURS],
])(
  "X9: of two hosts one is two hours %s: no lease is stolen before its ttl by the database's clock",
  async (_first, _second, shift) => {
    const place = await takeLedger();
    onTestFinished(place.giveBack);
    await using ledger = await openLedger(place.url);
    await ledger.state.save(SETTINGS_DOCUMENT, { crash_grace_ms: 0, park_settle_ms: 0 });
    await ledger.tasks.create({ taskId: 't-1', title: 'work' });
    const began = await databaseTime();

    const held = await onHost(shift, place.url, { step: 'claim', holder: 'a', ttlMs: 60_000 });
    expect(held).toMatchObject({ outcome: 'claimed', task_id: 't-1' });
    // By the database's clock, whatever its host believes.
    const expires = Date.parse(String(held['expires_at']));
    expect(expires).toBeGreaterThanOrEqual(began + 60_000);
    expect(expires).toBeLessThanOrEqual((await databaseTime()) + 60_000);

    // The other host is two hours on the other side: to it the lease ended long ago, or has hours left.
    expect(await onHost(-shift, place.url, { step: 'claim', holder: 'b', ttlMs: 60_000 })).toMatchObject({
      outcome: 'none',
    });
    await onHost(-shift, place.url, { step: 'sweep', holder: 'b', ttlMs: 0 });
    expect(await ledger.tasks.get('t-1')).toMatchObject({
      status: 'running',
      current_run_id: held['run_id'],
    });

    await onHost(shift, place.url, { step: 'lead', holder: 'a', ttlMs: 60_000 });
    expect(await onHost(-shift, place.url, { step: 'lead', holder: 'b', ttlMs: 60_000 })).toMatchObject({
      outcome: 'held',
      holder: 'a',
    });

    // A sign of life that ends soon: then the task is anybody's, also by a clock to which it has hours left.
    await onHost(shift, place.url, { step: 'beat', holder: 'a', ttlMs: 1_000 });
    const [running] = await ledger.leases.running();
    while ((await databaseTime()) <= (running?.lease?.expires_at_ms ?? 0));
    expect(await onHost(-shift, place.url, { step: 'claim', holder: 'b', ttlMs: 60_000 })).toMatchObject({
      outcome: 'claimed',
      task_id: 't-1',
    });

    const ended = await databaseTime();
    const times = (await collect(ledger.read())).map(({ event }) => Date.parse(event.recorded_at));
    expect(times.filter((time) => time < began - 1000 || time > ended)).toEqual([]);
    expect(times).toEqual(times.toSorted((a, b) => a - b));
  },
);
