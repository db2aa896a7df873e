import { readFileSync, writeFileSync } from 'node:fs';
import { openLedger } from '@custody/ledger';
import { describe, expect, test } from 'vitest';
import { plainSession, takeLedger } from '../support/postgres.ts';
import type { Pair } from '../support/served-pair.ts';
import { carriedOut, put, refusalOf, servedLedger, startPair } from '../support/served-pair.ts';

/** The steps that a report calls done. */
function stepsDone(report: ReturnType<typeof carriedOut>): readonly string[] {
  return report.steps.filter(({ done }) => done).map(({ step }) => step);
}

/** Every byte of the store's file and of the state folder. */
function everyByte(pair: Pair): unknown {
  const path = pair.store.slice('sqlite:'.length);
  return [pair.everyFile(), readFileSync(path, 'hex'), readFileSync(`${path}-wal`, 'hex')];
}

describe('failover status', () => {
  test('tells each state of a failover, from a healthy pair to its end', async () => {
    const pair = await startPair();
    const status = async () => carriedOut(await pair.failover('status'));

    const healthy = await status();
    expect(healthy).toMatchObject({
      epoch: 1,
      upstream: String(pair.primary.port),
      primary: 'primary',
      fenced: [],
      old: { node: 'primary', health: 'ready', role: 'primary', failed: false, fenced: null },
      new: { node: 'replica', health: 'ready', role: 'replica' },
    });
    expect(stepsDone(healthy)).toEqual([]);

    pair.primary.child.kill('SIGSTOP');
    expect(await status()).toMatchObject({ primary: null, old: { health: 'silent', role: null } });
    await pair.primary.kill();
    expect(await status()).toMatchObject({ primary: null, old: { health: 'refused' } });
    pair.say('primary.failed', '');
    expect(stepsDone(await status())).toEqual(['preflight']);

    await using ledger = await openLedger(pair.store);
    await ledger.raiseEpoch('failover', { from_node: 'primary', to_node: 'replica' });
    expect(stepsDone(await status())).toEqual(['preflight']);
    pair.say('primary.fenced', 'primary fenced at epoch 2 since now');
    expect(stepsDone(await status())).toEqual(['preflight', 'fence']);
    pair.say('replica.role', 'primary');
    expect(stepsDone(await status())).toEqual(['preflight', 'fence', 'promote']);
    pair.say('upstream', `127.0.0.1:${pair.primary.port}`);
    expect(stepsDone(await status())).toEqual(['preflight', 'fence', 'promote']);

    carriedOut(await pair.failover('promote'));
    const done = await status();
    expect(done).toMatchObject({ epoch: 2, primary: 'replica', fenced: ['primary'] });
    expect(stepsDone(done)).toEqual(['preflight', 'fence', 'promote', 'switch', 'verify']);
    expect((await pair.run(['failover', 'status', ...endsOf(pair)])).stdout).toContain('verify    done');
    await pair.proxy.kill();
    expect(stepsDone(await status())).toEqual(['preflight', 'fence', 'promote', 'switch']);
  });

  test('and a dry run change no byte, neither of the store nor of the state folder', async () => {
    const pair = await startPair();
    expect(await put(pair.proxy.url, 'r-1', 'one')).toBe(204);
    await pair.primary.kill();
    const before = everyByte(pair);

    carriedOut(await pair.failover('status'));
    const plan = await pair.failover('promote', '--dry-run', '--mark-failed');
    const refused = await pair.failover('promote', '--dry-run');
    const text = await pair.run(['failover', 'promote', ...endsOf(pair), '--dry-run', '--mark-failed']);

    expect(everyByte(pair)).toEqual(before);
    expect(refusalOf(refused)).toBe('not_marked_failed');
    expect(text.stdout).toContain('would do:\n  preflight: write primary.failed\n');
    expect(plan).toMatchObject({
      code: 0,
      value: {
        epoch: 1,
        plan: [
          { step: 'preflight', action: 'write primary.failed' },
          { step: 'fence', action: 'raise the epoch from 1 to 2 and re-stamp open leases' },
          { step: 'fence', action: 'write primary.fenced' },
          { step: 'promote', action: 'write "primary" to replica.role' },
          { step: 'promote', action: 'wait until replica answers as primary' },
          { step: 'switch', action: `write "${pair.replica.port}" to upstream` },
          { step: 'verify', action: `write a record through ${pair.proxy.url} and read it back` },
        ],
      },
    });
    carriedOut(await pair.failover('promote', '--mark-failed'));
    const nothing = await pair.failover('promote', '--dry-run');
    expect((nothing.value as { plan: readonly { step: string }[] }).plan.map(({ step }) => step)).toEqual([
      'promote',
      'verify',
    ]);
  });
});

describe('failover promote', () => {
  test('stops where a step can not be done, and goes on from there', async () => {
    const pair = await startPair();
    await pair.primary.kill();
    await pair.proxy.kill();

    const answer = await pair.failover('promote', '--mark-failed');

    expect(refusalOf(answer)).toBe('not_verified');
    expect(pair.told('upstream')).toBe(String(pair.replica.port));
    await pair.startProxy(pair.proxy.port);
    expect(carriedOut(await pair.failover('promote'))).toMatchObject({ epoch: 2, primary: 'replica' });
  });

  test('takes the word of a node for its name', async () => {
    const pair = await startPair();
    await pair.primary.kill();
    const files = pair.everyFile();

    expect(refusalOf(await pair.failover('promote', '--mark-failed', '--new-node', 'node-3'))).toBe(
      'other_node',
    );
    expect(pair.everyFile()).toEqual(files);
  });

  test('writes through nodes that want a token', async () => {
    const served = await servedLedger();
    const token = 'a-token-that-may-write';
    writeFileSync(served.path('tokens'), `# of the nodes\na-token-that-may-read read\n${token} write\n`, {
      mode: 0o600,
    });
    served.say('replica.role', 'replica');
    const more = ['--token-file', served.path('tokens')];
    const replica = await served.startNode('replica', { more });
    const ends = [
      '--state',
      served.folder,
      '--old',
      'http://127.0.0.1:1',
      '--new',
      replica.url,
      '--mark-failed',
    ];

    const without = await served.json(['failover', 'promote', ...ends]);
    const wrong = await served.json([
      'failover',
      'promote',
      ...ends,
      '--token-file',
      served.path('custody.db'),
    ]);
    const right = await served.json(['failover', 'promote', ...ends, ...more]);

    expect(without).toMatchObject({ code: 1, value: { reason: 'not_verified' } });
    expect(wrong).toMatchObject({ code: 2, value: { error: { code: 'usage', option: '--token-file' } } });
    expect(right.code).toBe(0);
  });

  test('waits for a lock that a primary took with it into its pause', async () => {
    const { url, giveBack } = await takeLedger();
    const pair = await startPair(`${url}&lock_timeout=500`);
    await pair.primary.kill();
    const { searchParams } = new URL(url);
    const [schema, ledger] = [searchParams.get('schema'), searchParams.get('ledger')];
    const session = await plainSession();
    await session.query(`begin; select from ${schema}.ledger_head where ledger = '${ledger}' for update`);

    const running = pair.start([
      ...['-s', pair.store, '--json', 'failover', 'promote', ...endsOf(pair), '--mark-failed'],
    ]);
    const ended = new Promise((resolve) => {
      running.once('close', resolve);
    });
    let told = '';
    running.stderr.on('data', (piece: Buffer) => {
      told += piece.toString('utf8');
    });
    await expect
      .poll(() => told, { timeout: 30_000 })
      .toContain('holds the write lock of the store; trying again');
    await session.query('rollback');

    expect(await ended).toBe(0);
    expect(told).toContain('the epoch is 2 now');
    await Promise.all([pair.replica.kill(), pair.proxy.kill()]);
    await giveBack();
  });

  test.each([
    ['a JSON Lines store', ['-s', 'jsonl:root'], 'not_supported'],
    ['a ledger that another process serves', ['-s', 'http://127.0.0.1:1'], 'not_supported'],
    ['a state folder that is not there', [], 'state_unreadable'],
  ])('is no command for %s', async (_, store, code) => {
    const served = await servedLedger();
    const ends = ['--state', 'nowhere', '--old', 'http://127.0.0.1:1', '--new', 'http://127.0.0.1:2'];

    for (const verb of ['status', 'promote'])
      expect(await served.json([...store, 'failover', verb, ...ends])).toMatchObject({
        code: 2,
        value: { error: { code } },
      });
  });

  test.each([
    ['--old', 'https://127.0.0.1:1'],
    ['--new', 'http://127.0.0.1:1/path'],
    ['--public', '8080'],
    ['--old-node', '../primary'],
    ['--new', 'http://127.0.0.1:8081'],
  ])('refuses %s %s', async (option, value) => {
    const served = await servedLedger();
    const ends = ['--state', 'state', '--old', 'http://127.0.0.1:8081', '--new', 'http://127.0.0.1:8082'];

    expect(await served.json(['failover', 'status', ...ends, option, value])).toMatchObject({
      code: 2,
      value: { error: { code: 'usage', option } },
    });
  });
});

function endsOf(pair: Pair): readonly string[] {
  const ends = ['--old', pair.primary.url, '--new', pair.replica.url, '--public', pair.proxy.url];
  return ['--state', pair.folder, ...ends];
}
