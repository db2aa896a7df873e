import { closeSync, mkdirSync, openSync } from 'node:fs';
import type { Head } from '../../ports/event-store.ts';
import { writeFully } from './durable-file.ts';
import type { RootPaths } from './root-paths.ts';
import { hasTornTail } from './write-lines.ts';

/**
 * Notes where the chain stands, outside of the log: from then on no line before it can be changed unseen.
 * The note is not synced; a power cut may take the newest ones, never the log's.
 */
export function appendHead(paths: RootPaths, head: Pick<Head, 'seq' | 'hash'>, at: string): void {
  mkdirSync(paths.state, { recursive: true });
  const begin = hasTornTail(paths.heads) ? '\n' : '';
  const fd = openSync(paths.heads, 'a', 0o644);
  try {
    writeFully(fd, Buffer.from(`${begin}${JSON.stringify({ seq: head.seq, hash: head.hash, at })}\n`));
  } finally {
    closeSync(fd);
  }
}
