import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { openLedger } from '@custody/ledger';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';

describe('the documents of a JSONL store', () => {
  let root = '';

  beforeEach(() => {
    root = mkdtempSync(join(tmpdir(), 'custody-state-'));
  });

  afterEach(() => {
    rmSync(root, { recursive: true, force: true });
  });

  it('that can’t be written are an unreadable store, not a fault of the program', async () => {
    // No folder can be made where a file stands, whoever tries.
    writeFileSync(join(root, 'state'), 'not a folder');
    await using ledger = await openLedger(`jsonl:${root}`);

    const saved = ledger.state.save('last_pass', { sweep: {} });

    await expect(saved).rejects.toMatchObject({
      code: 'store_unreadable',
      facts: { path: join(root, 'state', 'custody.last_pass.json') },
    });
    expect(readFileSync(join(root, 'state'), 'utf8')).toBe('not a folder');
  });
});
