import { describe, expect, test } from 'vitest';
import { inProcessLocks } from '../../../packages/reconciler/src/shell/in-process-locks.ts';

/** Work that goes on until it is let go. */
function held() {
  let release: () => void = () => undefined;
  const until = new Promise<void>((resolve) => {
    release = resolve;
  });
  return { work: () => until, release };
}

describe('locks among the callers of a process', () => {
  test('give one holder a name at a time, first come first served', async () => {
    const locks = inProcessLocks();
    const first = held();
    const order: number[] = [];

    const turns = [
      locks.hold('a', first.work),
      ...[1, 2, 3].map((n) => locks.hold('a', async () => order.push(n))),
    ];
    await locks.hold('b', async () => order.push(0));
    first.release();
    await Promise.all(turns);

    expect(order).toEqual([0, 1, 2, 3]);
  });

  test('give up after their time, and let later callers pass once the holder is done', async () => {
    const locks = inProcessLocks(1);
    const first = held();
    const holder = locks.hold('a', first.work);

    expect(await locks.hold('a', async () => 'never')).toEqual({ outcome: 'timeout' });
    first.release();
    await holder;
    expect(await locks.hold('a', async () => 'now')).toEqual({ outcome: 'done', value: 'now' });
  });

  test('do not let a caller pass a holder that is still at work, though one before it gave up', async () => {
    const locks = inProcessLocks(1);
    const first = held();
    const holder = locks.hold('a', first.work);
    await locks.hold('a', async () => 'never');

    expect(await locks.hold('a', async () => 'never')).toEqual({ outcome: 'timeout' });
    first.release();
    await holder;
  });

  test('are given back by work that throws', async () => {
    const locks = inProcessLocks();

    await expect(locks.hold('a', () => Promise.reject(new Error('broken')))).rejects.toThrow('broken');
    expect(await locks.hold('a', async () => 'next')).toEqual({ outcome: 'done', value: 'next' });
  });
});
