import { createHash } from 'node:crypto';
import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { openLedger, parseTaskRow } from '@custody/ledger';
import { createReconciler } from '@custody/reconciler';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { anyHistory } from '../support/event-arbitrary.ts';
import { settled, started } from '../support/events.ts';
import { jsonlRoot } from '../support/jsonl-root.ts';
import { signingKeys } from '../support/signing-keys.ts';
import { tellTamperings } from '../support/tampering.ts';
import { failedRow } from '../support/terminal-rows.ts';

const RUNS = process.env['CUSTODY_TEST_LONG'] === undefined ? 60 : 1000;
/** Thousands of histories on a busy machine. */
const LONG_TEST_MS = 1_800_000;
const KEYS = signingKeys();

/** Every file of a root, by the hash of its bytes. */
function bytesOf(root: string): Record<string, string> {
  return Object.fromEntries(
    readdirSync(root, { recursive: true, withFileTypes: true })
      .filter((entry) => entry.isFile())
      .map(({ parentPath, name }) => [
        join(parentPath, name),
        createHash('sha256')
          .update(readFileSync(join(parentPath, name)))
          .digest('hex'),
      ]),
  );
}

type Kind = 'flip' | 'remove' | 'insert' | 'swap' | 'truncate';

interface Tampering {
  readonly kind: Kind;
  readonly at: number;
  readonly byte: number;
  readonly mask: number;
}

const tamperings: fc.Arbitrary<Tampering> = fc.record({
  kind: fc.constantFrom('flip', 'remove', 'insert', 'swap', 'truncate'),
  at: fc.nat(),
  byte: fc.nat(),
  mask: fc.integer({ min: 1, max: 255 }),
});

const NEWLINE = Buffer.from('\n');

/** Changes one line of a log; answers the first event that is not what it was. */
function tamper(path: string, { kind, at, byte, mask }: Tampering, foreign: string): number {
  const bytes = readFileSync(path);
  const lines: Buffer[] = [];
  for (let start = 0; start < bytes.length; ) {
    const end = bytes.indexOf(NEWLINE, start);
    lines.push(Buffer.from(bytes.subarray(start, end)));
    start = end + 1;
  }
  const place = at % (lines.length - 1);
  const line = lines[place] ?? Buffer.alloc(0);
  if (kind === 'flip') line[byte % line.length] = (line[byte % line.length] ?? 0) ^ mask;
  if (kind === 'remove') lines.splice(place, 1);
  if (kind === 'insert') lines.splice(place, 0, Buffer.from(foreign));
  if (kind === 'swap') lines.splice(place, 2, lines[place + 1] ?? line, line);
  if (kind === 'truncate') lines.splice(place + 1);
  writeFileSync(path, Buffer.concat(lines.flatMap((each) => [each, NEWLINE])));
  return kind === 'truncate' ? place + 2 : place + 1;
}

describe.each(['custody', 'ouroboros'] as const)('tampering with a log in the %s dialect', (dialect) => {
  const foreign =
    dialect === 'custody'
      ? '{"type":"run.settled","run_id":"last-2","task_id":"t-1","state":"failed"}'
      : '{"type":"delegate_run_settled","run_id":"last-2","task_id":"t-1","state":"failed"}';

  test(
    'P2: any flipped byte, and any removed, inserted, swapped or cut line that was recorded is told with its place, and no file is changed by looking',
    async () => {
      const found: Record<Kind, number> = { flip: 0, remove: 0, insert: 0, swap: 0, truncate: 0 };
      await fc.assert(
        fc.asyncProperty(anyHistory, tamperings, async (history, tampering) => {
          const root = jsonlRoot(dialect);
          const ledger = await root.open();
          await Promise.allSettled(history.map((event) => ledger.append([event])));
          await ledger.append([started('last-1', 't-1'), started('last-2', 't-1')]);
          await ledger.append([settled('last-1')]);
          const checkpoint = await ledger.takeCheckpoint({ privateKey: KEYS.privateKey });
          const { seq, hash } = await ledger.head();
          await ledger.close();

          const place = tamper(root.log, tampering, foreign);

          const before = bytesOf(root.path);
          await using looking = await openLedger(`jsonl:${root.path}?dialect=${dialect}`, { readOnly: true });
          const report = await looking.verify({ expectHead: { seq, hash }, rebuild: true });
          const signed = await looking.verify({ proof: { checkpoint, publicKey: KEYS.publicKey } });
          const heads = readFileSync(join(root.path, 'state', 'custody.heads.jsonl'), 'utf8')
            .split('\n')
            .filter((line) => line !== '')
            .map((line) => Number((JSON.parse(line) as { seq: number }).seq));
          // The first head at or behind the place is the first that does not fit any more.
          const firstBadHead = heads.find((head) => head >= place);
          expect({ tampering, ok: report.ok, seq: report.problems[0]?.seq }).toEqual({
            tampering,
            ok: false,
            seq: firstBadHead,
          });
          expect(['head_not_in_chain', 'truncated']).toContain(report.problems[0]?.code);
          expect(signed.ok).toBe(false);
          expect(bytesOf(root.path)).toEqual(before);
          found[tampering.kind] += 1;
          await looking.close();
          await root.remove();
        }),
        { numRuns: RUNS },
      );
      tellTamperings(`jsonl (${dialect})`, found);
      expect(Object.values(found).every((count) => count > 0)).toBe(true);
    },
    LONG_TEST_MS,
  );

  test('P4, V10: what a heal wrote into a row file and somebody edited is named with its task', async () => {
    const root = jsonlRoot(dialect);
    const ledger = await root.open();
    await ledger.append([started('run-1', 't-1')]);
    await ledger.rows.put([parseTaskRow(JSON.stringify(failedRow('t-1', ['gone'])))]);
    expect(await createReconciler(ledger).backfill()).toMatchObject({ refreshed: ['t-1'] });
    expect(await ledger.verify({ rebuild: true })).toMatchObject({ ok: true });
    await ledger.close();
    const file = join(root.path, 'task_results', 't-1.json');
    writeFileSync(file, readFileSync(file, 'utf8').replaceAll('"run-1"', '"run-9"'));
    const before = bytesOf(root.path);

    await using looking = await openLedger(`jsonl:${root.path}?dialect=${dialect}`, { readOnly: true });

    expect(await looking.verify({ rebuild: true })).toMatchObject({
      ok: false,
      problems: [{ code: 'row_mismatch', task_id: 't-1' }],
    });
    expect(bytesOf(root.path)).toEqual(before);
  });
});
