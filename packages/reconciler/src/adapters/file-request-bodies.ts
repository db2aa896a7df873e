import { createHash, randomUUID } from 'node:crypto';
import { mkdir, open, readFile, rename, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { isJsonObject, textOf } from '@custody/ledger';
import type { RequestBodies } from '../ports/request-bodies.ts';

/**
 * Bodies as files of one folder, each named by the sha256 of its text: `{"kind": "file", "sha256": ..., "bytes": ...}`.
 * A body is written beside its place, synced, and renamed, so that a name always has its whole text.
 */
export function fileRequestBodies(directory: string): RequestBodies {
  return {
    put: async (body) => {
      const text = JSON.stringify(body);
      const sha256 = hashOf(text);
      await mkdir(directory, { recursive: true });
      await writeWhole(directory, `${sha256}.json`, text);
      return { kind: 'file', sha256, bytes: Buffer.byteLength(text) };
    },
    get: async (reference) => {
      const sha256 = textOf(reference, 'sha256');
      if (reference['kind'] !== 'file' || !/^[0-9a-f]{64}$/.test(sha256)) return null;
      try {
        const text = await readFile(join(directory, `${sha256}.json`), 'utf8');
        const body: unknown = hashOf(text) === sha256 ? JSON.parse(text) : null;
        return isJsonObject(body) ? body : null;
      } catch {
        // A body that can't be had: its invocation keeps its identity and waits.
        return null;
      }
    },
  };
}

async function writeWhole(directory: string, name: string, text: string): Promise<void> {
  const draft = join(directory, `.${name}.${randomUUID()}`);
  try {
    const file = await open(draft, 'wx');
    try {
      await file.writeFile(text);
      await file.sync();
    } finally {
      await file.close();
    }
    await rename(draft, join(directory, name));
  } catch (error) {
    await rm(draft, { force: true });
    throw error;
  }
  const folder = await open(directory, 'r');
  try {
    await folder.sync();
  } finally {
    await folder.close();
  }
}

function hashOf(text: string): string {
  return createHash('sha256').update(text).digest('hex');
}
