import { createHash } from 'node:crypto';
import { appendFileSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { openLedger } from '@custody/ledger';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { settled, started } from '../support/events.ts';

describe.each(['custody', 'ouroboros'])('the chain of a JSONL log in the %s dialect', (dialect) => {
  let root = '';

  beforeEach(() => {
    root = mkdtempSync(join(tmpdir(), 'custody-chain-'));
  });

  afterEach(() => {
    rmSync(root, { recursive: true, force: true });
  });

  const log = () => join(root, 'logs', 'events.jsonl');
  const open = () => openLedger(`jsonl:${root}?dialect=${dialect}`);

  /** Everything of the chain that sha256 alone can tell from the file. */
  function hashOfLines(isEvent: (line: string) => boolean): string {
    const lines = readFileSync(log(), 'utf8').split('\n').slice(0, -1).filter(isEvent);
    return lines.reduce(
      (hash, line) => createHash('sha256').update(hash).update(line, 'utf8').digest('hex'),
      '0'.repeat(64),
    );
  }

  it('runs over the bytes of its lines, and its heads stand outside of the log', async () => {
    const ledger = await open();
    await ledger.append([started('run-1', 't-1', { x_text: 'ü€𝄞' })]);
    await ledger.append([settled('run-1')]);
    const { seq, hash } = await ledger.head();
    await ledger.close();

    expect(hash).toBe(hashOfLines(() => true));
    const heads = readFileSync(join(root, 'state', 'custody.heads.jsonl'), 'utf8')
      .trim()
      .split('\n');
    expect(JSON.parse(heads.at(-1) ?? '')).toMatchObject({ seq, hash });
  });

  it('takes in the lines of other programs, and passes over what is no custody', async () => {
    const ledger = await open();
    await ledger.append([started('run-1', 't-1')]);
    const noise = '{"ts":"2026-03-01T00:00:00Z","type":"chat_message","text":"hello"}';
    const foreign =
      dialect === 'ouroboros'
        ? '{"ts":"2026-03-01T00:00:00Z", "type":"delegate_run_settled", "run_id":"run-1", "task_id":"t-1", "state":"failed"}'
        : '{"at":"2026-03-01T00:00:00Z", "type":"run.settled", "run_id":"run-1", "task_id":"t-1", "state":"failed"}';
    appendFileSync(log(), `${noise}\n${foreign}\n`);

    const { seq, hash } = await ledger.head();

    expect(seq).toBe(2);
    expect(hash).toBe(hashOfLines((line) => line !== noise));
    expect((await ledger.custody.run('run-1'))?.terminal_state).toBe('failed');
    await ledger.close();
  });

  it('is found out when a line that a head covers was changed', async () => {
    const ledger = await open();
    await ledger.append([started('run-1', 't-1'), settled('run-1')]);
    await ledger.append([started('run-2', 't-1')]);
    await ledger.close();
    const text = readFileSync(log(), 'utf8');

    writeFileSync(log(), text.replace('succeeded', 'cancelled'));

    const tampered = await open();
    const report = await tampered.verify();
    await tampered.close();
    expect(report.ok).toBe(false);
    expect(report.problems.length).toBeGreaterThan(0);
  });
});
