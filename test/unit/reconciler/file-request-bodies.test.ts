import { mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { beforeEach, describe, expect, onTestFinished, test } from 'vitest';
import { fileRequestBodies } from '../../../packages/reconciler/src/adapters/file-request-bodies.ts';

describe('bodies in a folder', () => {
  let folder = '';
  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), 'custody-bodies-'));
    onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  });

  test('come back as they were put, and the same body has the same place', async () => {
    const bodies = fileRequestBodies(join(folder, 'made', 'on', 'demand'));
    const body = { prompt: 'grüße 🌿', nested: { list: [1, null, 'x'] } };

    const reference = await bodies.put(body);

    expect(reference).toMatchObject({ kind: 'file', bytes: Buffer.byteLength(JSON.stringify(body)) });
    expect(await bodies.get(reference)).toEqual(body);
    expect(await bodies.put(body)).toEqual(reference);
    expect(readdirSync(join(folder, 'made', 'on', 'demand'))).toEqual([
      `${String(reference['sha256'])}.json`,
    ]);
  });

  test('that were changed, are gone, or are named in another way are not there', async () => {
    const bodies = fileRequestBodies(folder);
    const changed = await bodies.put({ prompt: 'a' });
    writeFileSync(join(folder, `${String(changed['sha256'])}.json`), '{"prompt":"b"}');

    expect(await bodies.get(changed)).toBeNull();
    expect(await bodies.get({ kind: 'file', sha256: 'a'.repeat(64) })).toBeNull();
    expect(await bodies.get({ kind: 'file', sha256: '../../etc/passwd' })).toBeNull();
    expect(await bodies.get({ kind: 's3', sha256: changed['sha256'] })).toBeNull();
    expect(await bodies.get({})).toBeNull();
  });

  test('that can not be written are refused, and leave no draft', async () => {
    writeFileSync(join(folder, 'file'), '');

    await expect(fileRequestBodies(join(folder, 'file')).put({ prompt: 'a' })).rejects.toThrow(
      /EEXIST|ENOTDIR/,
    );
    expect(readdirSync(folder)).toEqual(['file']);
  });
});
