import { isId } from '@custody/ledger';
import { Hono } from 'hono';
import { bodyLimit } from 'hono/body-limit';
import type { ServedNode } from './served-node.ts';

/** Path of a record, up to its id. */
const RECORDS = '/records/';

/** What is served to everybody: how the node is, what it is, and the records. */
export function publicApi(node: ServedNode, maxBodyBytes: number): Hono {
  const api = new Hono();
  // A node that can't read its ledger is not ready to take it over.
  api.get('/health', async (context) =>
    context.text(await node.read((ledger) => ledger.head()).then(() => 'ready')),
  );
  api.get('/role', async (context) => context.text(await node.role().catch(() => 'replica')));
  api.get(`${RECORDS}*`, async (context) => {
    const id = recordId(context.req.path);
    if (id === null) return context.text('not an id', 400);
    const text = await node.read((ledger) => ledger.records.get(id));
    if (text === null) return context.body(null, 404);
    return context.body(text, 200, {
      'content-type': 'text/plain; charset=utf-8',
      'cache-control': 'no-store',
    });
  });
  api.put(
    `${RECORDS}*`,
    bodyLimit({ maxSize: maxBodyBytes, onError: (context) => context.text('body too large', 413) }),
    async (context) => {
      const id = recordId(context.req.path);
      if (id === null) return context.text('not an id', 400);
      const text = utf8(await context.req.arrayBuffer());
      if (text === null) return context.text('not UTF-8', 400);
      await node.write((ledger) => ledger.records.put(id, text));
      return context.body(null, 204);
    },
  );
  for (const path of ['/health', '/role'])
    api.all(path, (context) => context.text('method not allowed', 405, { allow: 'GET, HEAD' }));
  api.all(`${RECORDS}*`, (context) => context.text('method not allowed', 405, { allow: 'GET, HEAD, PUT' }));
  return api;
}

/** The id in a path, decoded once; null if it is none. A path is never anything but a key of a table. */
function recordId(path: string): string | null {
  try {
    const id = decodeURIComponent(path.slice(RECORDS.length));
    return isId(id) ? id : null;
  } catch {
    return null;
  }
}

/** The text, with its byte order mark if it has one; null if the bytes are not UTF-8. */
function utf8(bytes: ArrayBuffer): string | null {
  try {
    return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes);
  } catch {
    return null;
  }
}
