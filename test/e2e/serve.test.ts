import { renameSync, writeFileSync } from 'node:fs';
import { openLedger } from '@custody/ledger';
import { describe, expect, test } from 'vitest';
import { cliBench, shaped } from '../support/cli.ts';
import { ERROR_SCHEMA } from '../support/cli-schemas.ts';
import { NODE_STORE, serveArgs, startNode, tell } from '../support/running-node.ts';

describe('the public API', () => {
  test('says how the node is and what it is, and nothing else', async () => {
    const node = await startNode(cliBench());

    const health = await node.ask('/health');
    const role = await node.ask('/role');

    expect({ status: health.status, text: health.text }).toEqual({ status: 200, text: 'ready' });
    expect({ status: role.status, text: role.text }).toEqual({ status: 200, text: 'primary' });
    expect(node.line).toEqual({ listening: node.url, node: 'primary', role: 'primary' });
  });

  test('gives back exactly the bytes that were put', async () => {
    const node = await startNode(cliBench());
    const texts = {
      text: 'héllo ✓',
      nothing: '',
      byte_order_mark: '\uFEFFx',
      controls: 'a\u0000b\r\n\t\u007f',
      json: '{"a":1}\n',
      beyond_the_first_plane: '𝄞🎼',
      a_mebibyte: 'x'.repeat(1024 * 1024),
    };

    for (const [id, text] of Object.entries(texts)) {
      expect(await node.put(id, text)).toBe(204);
      const answer = await node.get(id);
      expect({ id, status: answer.status, isSame: answer.bytes.equals(Buffer.from(text)) }).toEqual({
        id,
        status: 200,
        isSame: true,
      });
    }
  });

  test('keeps the newest text of an id, also after a restart', async () => {
    const bench = cliBench();
    const node = await startNode(bench);
    expect([await node.put('r-1', 'first'), await node.put('r-1', 'second')]).toEqual([204, 204]);
    node.child.kill('SIGTERM');
    expect((await node.ended).code).toBe(0);

    const again = await startNode(bench);

    expect((await again.get('r-1')).text).toBe('second');
  });

  test('answers 404 with an empty body for what was never put', async () => {
    const node = await startNode(cliBench());

    const answer = await node.get('r-1');

    expect({ status: answer.status, bytes: answer.bytes.length }).toEqual({ status: 404, bytes: 0 });
  });

  test('refuses a body that is not UTF-8, and changes nothing', async () => {
    const node = await startNode(cliBench());
    await node.put('r-1', 'kept');
    const bodies = {
      'a lone continuation byte': [0x80],
      'a cut character': [0x68, 0xc3],
      'an overlong slash': [0xc0, 0xaf],
      'half of a surrogate pair': [0xed, 0xa0, 0x80],
    };

    for (const [what, bytes] of Object.entries(bodies))
      expect({ what, status: await node.put('r-1', Uint8Array.from(bytes)) }).toEqual({ what, status: 400 });

    expect((await node.get('r-1')).text).toBe('kept');
  });

  test('refuses a body over the limit with 413, told by its length or not, and changes nothing', async () => {
    const node = await startNode(cliBench(), 'primary', ['--max-body', '10']);
    await node.put('r-1', '0123456789');

    const long = await node.ask('/records/r-1', { method: 'PUT', body: '0123456789a' });
    const streamed = await node.ask('/records/r-1', {
      method: 'PUT',
      body: new Blob(['01234', '56789a']).stream(),
      duplex: 'half',
    } as RequestInit);

    expect([long.status, streamed.status]).toEqual([413, 413]);
    expect((await node.get('r-1')).text).toBe('0123456789');
  });

  test('refuses what is no id with 400', async () => {
    const node = await startNode(cliBench());
    const ids = [
      '',
      'a%2Fb',
      'a/b',
      '%2e%2e%2fcustody.db',
      'a%00b',
      'a%20b',
      '-a',
      'a%25b',
      '%',
      '%zz',
      '%ff',
      'caf%C3%A9',
      'x'.repeat(129),
    ];

    for (const id of ids)
      expect({ id, put: await node.put(id, 'x'), get: (await node.get(id)).status }).toEqual({
        id,
        put: 400,
        get: 400,
      });
  });

  test('takes an id in percent-encoding for the same id', async () => {
    const node = await startNode(cliBench());

    expect(await node.put('%72%2D1', 'x')).toBe(204);

    expect((await node.get('r-1')).text).toBe('x');
  });

  test('names the methods that a path takes', async () => {
    const node = await startNode(cliBench());

    const removed = await node.ask('/records/r-1', { method: 'DELETE' });
    const posted = await node.ask('/health', { method: 'POST', body: 'x' });

    expect([removed.status, removed.headers.get('allow')]).toEqual([405, 'GET, HEAD, PUT']);
    expect([posted.status, posted.headers.get('allow')]).toEqual([405, 'GET, HEAD']);
    expect((await node.ask('/nothing')).status).toBe(404);
  });
});

describe('roles', () => {
  test('a replica reads and takes no writes; a flip is seen by the next request', async () => {
    const bench = cliBench();
    const primary = await startNode(bench);
    await primary.put('r-1', 'kept');
    const node = await startNode(bench, 'replica');
    expect(node.line.role).toBe('replica');
    expect((await node.get('r-1')).text).toBe('kept');

    const refused = await node.ask('/records/r-1', { method: 'PUT', body: 'x' });
    expect({ status: refused.status, text: refused.text }).toEqual({ status: 503, text: 'read-only' });
    expect((await node.get('r-1')).text).toBe('kept');

    tell(bench, 'replica.role', 'primary\n');
    expect(await node.put('r-1', 'by the new one')).toBe(204);
    expect((await node.ask('/role')).text).toBe('primary');

    tell(bench, 'replica.role', 'replica\n');
    expect(await node.put('r-1', 'x')).toBe(503);
    expect((await node.ask('/role')).text).toBe('replica');
    expect((await node.get('r-1')).text).toBe('by the new one');
  });

  test('a node whose role file says nothing clear takes no writes', async () => {
    const bench = cliBench();
    const node = await startNode(bench);
    expect(await node.put('r-1', 'kept')).toBe(204);

    for (const text of ['PRIMARY', '', 'primary replica', '\u0000primary']) {
      tell(bench, 'primary.role', text);
      expect([await node.put('r-1', 'x'), (await node.ask('/role')).text]).toEqual([503, 'replica']);
    }

    tell(bench, 'primary.role', 'primary');
    expect(await node.put('r-1', 'again')).toBe(204);
  });

  test('a node whose state folder is gone takes no writes until it is there again', async () => {
    const bench = cliBench();
    const node = await startNode(bench);
    await node.put('r-1', 'kept');

    renameSync(bench.path('state'), bench.path('elsewhere'));
    expect([await node.put('r-1', 'x'), (await node.ask('/role')).text]).toEqual([503, 'replica']);

    renameSync(bench.path('elsewhere'), bench.path('state'));
    expect(await node.put('r-1', 'again')).toBe(204);
  });

  test('X5 a node whose epoch is over is refused, says so, and does not come back on its own', async () => {
    const bench = cliBench();
    const node = await startNode(bench);
    await node.put('r-1', 'kept');
    const other = await openLedger(`sqlite:${bench.path('custody.db')}`);
    await other.raiseEpoch('somebody takes over');

    expect(await node.put('r-1', 'x')).toBe(503);
    expect((await node.ask('/role')).text).toBe('replica');
    expect((await node.get('r-1')).text).toBe('kept');
    // A file that can not be read in between is no promotion.
    tell(bench, 'primary.role', 'unreadable');
    expect(await node.put('r-1', 'x')).toBe(503);
    tell(bench, 'primary.role', 'primary');
    expect(await node.put('r-1', 'x')).toBe(503);

    tell(bench, 'primary.role', 'replica');
    expect(await node.put('r-1', 'x')).toBe(503);
    tell(bench, 'primary.role', 'primary');
    expect(await node.put('r-1', 'promoted')).toBe(204);
    await expect(other.records.put('r-1', 'x')).resolves.toBeUndefined();
    await other.close();
  });

  test('says that it is a replica before anybody writes, once its epoch is over', async () => {
    const bench = cliBench();
    const node = await startNode(bench);
    const other = await openLedger(`sqlite:${bench.path('custody.db')}`);
    await other.raiseEpoch('somebody takes over');
    await other.close();

    expect((await node.ask('/role')).text).toBe('replica');
  });
});

describe('a fenced node', () => {
  const LINE = 'primary fenced at epoch 2 since 2026-03-01T00:00:00.000Z\n';

  test('T3 does not start: exit 1, and a message that says why', async () => {
    const bench = cliBench();
    await bench.run(['-s', NODE_STORE, 'init']);
    tell(bench, 'primary.fenced', LINE);

    const { code, stdout } = await bench.run(serveArgs(bench, 'primary'));

    expect(code).toBe(1);
    expect(JSON.parse(stdout)).toMatchObject({
      outcome: 'refused',
      reason: 'node_fenced',
      node: 'primary',
      fenced: LINE.trim(),
    });
  });

  test('does not make a store either', async () => {
    const bench = cliBench();
    tell(bench, 'primary.fenced', '');

    expect((await bench.run(serveArgs(bench, 'primary'))).code).toBe(1);

    expect((await bench.run(['-s', NODE_STORE, 'stats'])).code).toBe(3);
  });

  test('T6 stops to answer as primary while it runs', async () => {
    const bench = cliBench();
    const node = await startNode(bench);
    await node.put('r-1', 'kept');

    tell(bench, 'primary.fenced', LINE);

    expect([await node.put('r-1', 'x'), (await node.ask('/role')).text]).toEqual([503, 'replica']);
    expect((await node.get('r-1')).text).toBe('kept');
  });

  test('is also one whose ledger was given to another node before any file said so', async () => {
    const bench = cliBench();
    const ledger = await openLedger(`sqlite:${bench.path('custody.db')}`);
    await ledger.raiseEpoch('failover', { from_node: 'primary', to_node: 'replica' });
    await ledger.close();

    const { code, stdout } = await bench.run(serveArgs(bench, 'primary'));

    expect({ code, reason: (JSON.parse(stdout) as { reason: string }).reason }).toEqual({
      code: 1,
      reason: 'node_fenced',
    });
  });
});

describe('what can not be served', () => {
  test('a JSONL store: exit 2, with the way out', async () => {
    const bench = cliBench();
    const args = serveArgs(bench, 'primary').map((arg) => (arg === NODE_STORE ? 'jsonl:root' : arg));

    const { code, stdout } = await bench.run(args);

    const { error } = shaped(ERROR_SCHEMA, JSON.parse(stdout));
    expect({ code, told: error.code }).toEqual({ code: 2, told: 'not_supported' });
    expect(error.hint).toContain('event import');
    expect((await bench.run(['-s', 'jsonl:root', 'stats'])).code).toBe(3);
  });

  test.each([
    ['a state folder that is not there', ['--state', 'nowhere'], 'state_unreadable'],
    ['an address of another host', ['--listen', '192.0.2.1:0', '--token-file', 'tokens'], 'listen_failed'],
    ['an address without a port', ['--listen', '127.0.0.1'], 'usage'],
    ['a name that is a path', ['--node', '../primary'], 'usage'],
    ['an address that others reach, without tokens', ['--listen', '0.0.0.0:0'], 'usage'],
  ])('%s: exit 2', async (_name, args, told) => {
    const bench = cliBench();
    writeFileSync(bench.path('tokens'), `${'t'.repeat(32)} write\n`, { mode: 0o600 });

    const { code, stdout } = await bench.run([...serveArgs(bench, 'primary'), ...args]);

    expect({ code, told: shaped(ERROR_SCHEMA, JSON.parse(stdout)).error.code }).toEqual({ code: 2, told });
  });

  test('an address that somebody listens on: exit 2', async () => {
    const bench = cliBench();
    const node = await startNode(bench);

    const { code, stdout } = await bench.run([
      ...serveArgs(bench, 'replica'),
      '--listen',
      `127.0.0.1:${node.port}`,
    ]);

    expect({ code, told: shaped(ERROR_SCHEMA, JSON.parse(stdout)).error.code }).toEqual({
      code: 2,
      told: 'listen_failed',
    });
  });

  test('a replica without a store: exit 3, and none is made', async () => {
    const bench = cliBench();

    const { code, stdout } = await bench.run(serveArgs(bench, 'replica'));

    expect({ code, told: shaped(ERROR_SCHEMA, JSON.parse(stdout)).error.code }).toEqual({
      code: 3,
      told: 'store_missing',
    });
    expect((await bench.run(['-s', NODE_STORE, 'stats'])).code).toBe(3);
  });
});
