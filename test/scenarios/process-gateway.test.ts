import type { ChildProcess } from 'node:child_process';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import type { Readable, Writable } from 'node:stream';
import type { ProcessIdentity, RunRecord } from '@custody/ledger';
import { identifyProcess, openLedger } from '@custody/ledger';
import { createReconciler, processGateway } from '@custody/reconciler';
import { describe, expect, onTestFinished, test } from 'vitest';
import { started } from '../support/events.ts';
import { failedRow, listOf, putRow } from '../support/terminal-rows.ts';

const gateway = processGateway();

/** Runs a program of Node until it says that it is ready; it ends with the test. */
async function run(
  program: string,
  options: { readonly detached?: boolean } = {},
): Promise<ChildProcess & { readonly pid: number }> {
  const child = spawn(process.execPath, ['-e', program], { stdio: ['pipe', 'pipe', 'inherit'], ...options });
  onTestFinished(() => {
    child.kill('SIGKILL');
  });
  await once(child.stdout, 'data');
  return child as ChildProcess & { readonly pid: number };
}

const WAITS = 'console.log("ready"); process.stdin.resume()';

async function identityOf(pid: number): Promise<ProcessIdentity> {
  const identity = await identifyProcess(pid);
  if (identity === null) throw new Error(`process ${pid} can't be named`);
  return identity;
}

async function runOf(identity: ProcessIdentity | null): Promise<RunRecord> {
  const ledger = await openLedger('memory:');
  await ledger.append([started('run-1', 't-1', identity === null ? {} : { process: { ...identity } })]);
  const record = await ledger.custody.run('run-1');
  if (record === null) throw new Error('run-1 was not started');
  return record;
}

describe.runIf(process.platform === 'linux')('a run that is a process of this host', () => {
  test('is live while the process runs, and absent once it has ended', async () => {
    const child = await run(WAITS);
    const record = await runOf(await identityOf(child.pid));

    expect(await gateway.lookup(record)).toEqual({ outcome: 'live', state: 'running' });

    child.kill('SIGKILL');
    await once(child, 'exit');
    expect(await gateway.lookup(record)).toEqual({ outcome: 'absent' });
    expect(await gateway.cancel(record, 'x')).toEqual({ outcome: 'absent' });
  });

  test('is absent when its pid belongs to another process now', async () => {
    const child = await run(WAITS);
    const identity = await identityOf(child.pid);
    const record = await runOf({ ...identity, started_at_ticks: identity.started_at_ticks - 1 });

    expect(await gateway.lookup(record)).toEqual({ outcome: 'absent' });
    expect(await gateway.cancel(record, 'x')).toEqual({ outcome: 'absent' });
    expect(child.exitCode ?? child.signalCode).toBeNull();
  });

  test('is absent when it is a zombie, which nobody has waited for', async () => {
    // A shell starts a child and turns into a program that never waits for children.
    const parent = spawn('sh', ['-c', 'cat <&3 & echo $!; exec sleep 60'], {
      stdio: ['ignore', 'pipe', 'inherit', 'pipe'],
    });
    onTestFinished(() => {
      parent.kill('SIGKILL');
    });
    const [line] = (await once(parent.stdio[1] as Readable, 'data')) as [Buffer];
    const pid = Number(line.toString());
    await expect.poll(() => readFileSync(`/proc/${parent.pid}/comm`, 'utf8')).toBe('sleep\n');
    (parent.stdio[3] as Writable).end();
    await expect.poll(() => /\) Z /.test(readFileSync(`/proc/${pid}/stat`, 'utf8'))).toBe(true);

    expect(await gateway.lookup(await runOf(await identityOf(pid)))).toEqual({ outcome: 'absent' });
  });

  test('is unknown without an identity: a pid alone names nobody', async () => {
    expect(await gateway.lookup(await runOf(null))).toMatchObject({ outcome: 'unknown' });
    const half = { pid: process.pid } as unknown as ProcessIdentity;
    expect(await gateway.lookup(await runOf(half))).toMatchObject({ outcome: 'unknown' });
    expect(await gateway.cancel(await runOf(half), 'x')).toMatchObject({ outcome: 'unknown' });
  });

  test('of an earlier boot is absent if the machine is this one, else unknown', async () => {
    const identity = await identityOf(process.pid);
    const earlier = { ...identity, boot_id: '00000000-0000-4000-8000-000000000000' };
    const { machine_id: machineId, ...nowhere } = earlier;

    expect(await gateway.lookup(await runOf(nowhere))).toMatchObject({ outcome: 'unknown' });
    expect(await gateway.lookup(await runOf({ ...earlier, machine_id: 'another' }))).toMatchObject({
      outcome: 'unknown',
    });
    if (machineId !== undefined)
      expect(await gateway.lookup(await runOf(earlier))).toEqual({ outcome: 'absent' });
  });

  test('of another pid namespace is unknown: its pid means nothing here', async () => {
    const identity = await identityOf(process.pid);

    expect(await gateway.lookup(await runOf({ ...identity, pid_namespace: 'pid:[1]' }))).toMatchObject({
      outcome: 'unknown',
    });
  });

  test('is stopped by a signal, and the look afterwards tells whether it stopped', async () => {
    const child = await run(WAITS);
    const record = await runOf(await identityOf(child.pid));

    expect(await gateway.cancel(record, 'owner_task_gone')).toEqual({
      outcome: 'accepted',
      status: 'SIGTERM',
    });
    expect(await once(child, 'exit')).toEqual([null, 'SIGTERM']);
    expect(await gateway.lookup(record)).toEqual({ outcome: 'absent' });
  });

  test('that leads a group is stopped with its group', async () => {
    const leader = await run(
      `const { spawn } = require('node:child_process'); const child = spawn('sleep', ['60']); console.log(child.pid); process.stdin.resume()`,
      { detached: true },
    );

    await gateway.cancel(await runOf(await identityOf(leader.pid)), 'owner_task_gone');

    await once(leader, 'exit');
    const record = await runOf({ ...(await identityOf(process.pid)), pid: leader.pid });
    await expect.poll(() => gateway.lookup(record)).toEqual({ outcome: 'absent' });
  });

  test('whose leader is gone while its group lives is unknown: asked to stop is not stopped', async () => {
    const leader = await run(
      `const { spawn } = require('node:child_process');
       const child = spawn(process.execPath, ['-e', 'process.on("SIGTERM", () => {}); console.log("ready"); setInterval(() => {}, 1000)'], { stdio: ['ignore', 'pipe', 'ignore'] });
       child.stdout.once('data', () => console.log(child.pid)); process.stdin.resume()`,
      { detached: true },
    );
    const identity = await identityOf(leader.pid);
    onTestFinished(() => {
      process.kill(-leader.pid, 'SIGKILL');
    });

    await gateway.cancel(await runOf(identity), 'owner_task_gone');
    await once(leader, 'exit');

    expect(await gateway.lookup(await runOf(identity))).toEqual({
      outcome: 'unknown',
      reason: `process ${leader.pid} has ended, members of its group have not`,
    });
  });

  test('is never started again by a sweep', async () => {
    expect(
      await gateway.resubmit({ invocation_id: 'inv-1', task_id: 't-1', request: { prompt: 'x' }, facts: {} }),
    ).toMatchObject({ outcome: 'unknown' });
  });

  test('closes with its process in a sweep, and its row is healed', async () => {
    const child = await run(WAITS);
    const ledger = await openLedger('memory:');
    await ledger.append([started('run-1', 't-1', { process: { ...(await identityOf(child.pid)) } })]);
    await putRow(
      ledger,
      failedRow('t-1', ['run-1'], { outcome_axes: { execution: { status: 'infra_failed' } } }),
    );
    const reconciler = createReconciler(ledger, { liveTaskIds: [], gateway: () => gateway });

    expect(await reconciler.sweep()).toMatchObject({ orphans: [{ run_id: 'run-1', action: 'left_live' }] });
    child.kill('SIGKILL');
    await once(child, 'exit');
    expect(await reconciler.sweep()).toMatchObject({
      orphans: [{ run_id: 'run-1', action: 'absent' }],
      refreshed: ['t-1'],
    });
    expect(await listOf(ledger, 't-1')).toEqual([]);
  });
});
