import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { describe, expect, onTestFinished, test } from 'vitest';
import { linuxProcesses } from '../../../packages/ledger/src/adapters/process/linux-processes.ts';
import { signalTarget } from '../../../packages/ledger/src/adapters/process/process-group.ts';
import { stateOfProcess } from '../../../packages/ledger/src/core/managed/process-state.ts';

const processes = linuxProcesses();

/** A child that lives until it is told to end. */
async function startChild(command: string, args: readonly string[]) {
  const child = spawn(command, args, { stdio: 'ignore' });
  const gone = once(child, 'close');
  onTestFinished(async () => {
    child.kill('SIGKILL');
    await gone;
  });
  await once(child, 'spawn');
  const identity = await processes.identify(child.pid ?? 0);
  if (identity === null) throw new Error('the child can not be identified');
  return { child, gone, identity };
}

describe('processes of this host', () => {
  test('a living process is known again, and is gone once it ended', async () => {
    const { child, gone, identity } = await startChild('sleep', ['60']);
    expect(identity.pid).toBe(child.pid);
    expect(await processes.stateOf(identity)).toBe('alive');

    expect(await processes.signal(identity, 'SIGTERM')).toBe(true);
    await gone;

    expect(await processes.stateOf(identity)).toBe('gone');
    expect(await processes.identify(identity.pid)).toBeNull();
    expect(await processes.signal(identity, 'SIGKILL')).toBe(false);
  });

  test('a process that took over a pid is another one, and is never signalled', async () => {
    const { identity } = await startChild('sleep', ['60']);
    const earlier = { ...identity, started_at_ticks: identity.started_at_ticks - 1 };

    expect(await processes.stateOf(earlier)).toBe('gone');
    expect(await processes.signal(earlier, 'SIGKILL')).toBe(false);
    expect(await processes.stateOf(identity)).toBe('alive');
  });

  test('a zombie has ended', async () => {
    // The shell becomes a sleep, which never takes note of the child that the shell had started.
    const { child } = await startChild('sh', ['-c', 'sleep 0 & exec sleep 60']);
    const children = `/proc/${child.pid}/task/${child.pid}/children`;
    let zombie = '';
    while (zombie === '') {
      const [pid = ''] = readFileSync(children, 'utf8').trim().split(' ');
      if (pid !== '' && / Z /.test(readFileSync(`/proc/${pid}/stat`, 'utf8'))) zombie = pid;
      else await processes.wait(1);
    }

    expect(await processes.identify(Number(zombie))).toBeNull();
  });
});

test.each([
  [4242, true, -4242],
  [4242, false, 4242],
  [1, true, 1],
  [1, false, 1],
])(
  'a signal for process %i, leader of a group: %j, goes to %i and never to everybody',
  (pid, leads, target) => {
    expect(signalTarget(pid, leads)).toBe(target);
  },
);

describe('what can be said of a process from here', () => {
  const host = { boot_id: 'boot-2', machine_id: 'machine-1', pid_namespace: 'pid:[1]' };
  const identity = { pid: 7, started_at_ticks: 100, ...host };
  const seen = { outcome: 'seen', started_at_ticks: 100 } as const;

  test.each([
    ['the same start', identity, seen, 'alive'],
    ['another start', { ...identity, started_at_ticks: 99 }, seen, 'gone'],
    ['nobody under its pid', identity, { outcome: 'gone' } as const, 'gone'],
    ['somebody who is hidden', identity, { outcome: 'hidden' } as const, 'foreign'],
    ['an earlier boot of this machine', { ...identity, boot_id: 'boot-1' }, seen, 'gone'],
    ['another machine', { ...identity, boot_id: 'boot-1', machine_id: 'machine-2' }, seen, 'foreign'],
    [
      'a machine that has no name',
      { ...identity, boot_id: 'boot-1', machine_id: undefined },
      seen,
      'foreign',
    ],
    [
      'another pid namespace',
      { ...identity, pid_namespace: 'pid:[2]' },
      { outcome: 'gone' } as const,
      'foreign',
    ],
  ])('%s', (_case, known, found, state) => {
    expect(stateOfProcess(known, host, found)).toBe(state);
  });

  test('nothing without a /proc to look into', () => {
    expect(stateOfProcess(identity, null, { outcome: 'gone' })).toBe('foreign');
  });
});
