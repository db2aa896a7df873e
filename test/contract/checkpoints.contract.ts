import { generateKeyPairSync } from 'node:crypto';
import type { Checkpoint, Ledger } from '@custody/ledger';
import { openLedger, parseCheckpoint, parseTaskRow } from '@custody/ledger';
import { describe, expect, it } from 'vitest';
import { settled, started } from '../support/events.ts';
import { eventsOf } from '../support/log.ts';
import { signingKeys } from '../support/signing-keys.ts';
import { failedRow } from '../support/terminal-rows.ts';
import type { StoreKind } from './stores.ts';

const KEYS = signingKeys();
const OTHER_KEYS = signingKeys();

async function filled(ledger: Ledger): Promise<void> {
  await ledger.append([started('run-1', 't-1'), settled('run-1'), started('run-2', 't-2')]);
  await ledger.rows.put([
    parseTaskRow(JSON.stringify({ ...failedRow('t-1', ['run-1']), result: 'half', note: { deep: [1, 2] } })),
    parseTaskRow(JSON.stringify({ task_id: 't-2', status: 'running' })),
  ]);
}

const codesUnder = async (ledger: Ledger, checkpoint: Checkpoint, publicKey = KEYS.publicKey) =>
  (await ledger.verify({ proof: { checkpoint, publicKey } })).problems.map(({ code }) => code);

async function* linesOf(lines: readonly string[]): AsyncGenerator<string, void> {
  yield* lines;
}

/** What every store owes those who sign where it stands. */
export function checkpointsContract(kind: StoreKind): void {
  describe(`signed checkpoints of ${kind.name}`, () => {
    it('P2: a checkpoint holds for the log that it was taken of, also after the log went on', async () => {
      const { ledger } = await kind.open();
      await filled(ledger);
      const { seq, hash, epoch } = await ledger.head();
      const [first] = await eventsOf(ledger);

      const checkpoint = await ledger.takeCheckpoint({ privateKey: KEYS.privateKey });

      expect(checkpoint).toMatchObject({ ledger_id: first?.hash, seq, hash, epoch, rows: null });
      await ledger.append([settled('run-2')]);
      expect(await ledger.verify({ proof: { checkpoint, publicKey: KEYS.publicKey } })).toMatchObject({
        ok: true,
        problems: [],
      });
      expect(parseCheckpoint(JSON.stringify(checkpoint))).toEqual(checkpoint);
    });

    it('P2: names the wrong key, an altered file, a shorter log, a forked log and another ledger', async () => {
      const { ledger } = await kind.open();
      await filled(ledger);
      const checkpoint = await ledger.takeCheckpoint({ privateKey: KEYS.privateKey });

      expect(await codesUnder(ledger, checkpoint, OTHER_KEYS.publicKey)).toEqual(['checkpoint_wrong_key']);
      for (const altered of [
        { ...checkpoint, seq: checkpoint.seq - 1 },
        { ...checkpoint, hash: 'f'.repeat(64) },
        { ...checkpoint, at: '2020-01-01T00:00:00.000Z' },
        { ...checkpoint, incarnation: 'another' },
        { ...checkpoint, epoch: checkpoint.epoch + 1 },
        { ...checkpoint, ledger_id: null },
        { ...checkpoint, rows: { count: 0, hash: '0'.repeat(64) } },
        { ...checkpoint, signature: `${checkpoint.signature}=` },
      ])
        expect(await codesUnder(ledger, altered)).toEqual(['checkpoint_altered']);
      const renamed = await ledger.takeCheckpoint({ privateKey: OTHER_KEYS.privateKey });
      expect(await codesUnder(ledger, { ...renamed, key: checkpoint.key }, OTHER_KEYS.publicKey)).toEqual([
        'checkpoint_altered',
      ]);

      const other = await openLedger('memory:');
      await other.append([started('run-9', 't-9')]);
      expect(await codesUnder(other, checkpoint)).toEqual(['other_ledger']);
      await other.close();
    });

    it('P2: names the log that was cut or forked behind an event that both have', async () => {
      const { ledger } = await kind.open();
      // The same first event, so that it is the same ledger; then the two go different ways.
      const first = { ...started('run-1', 't-1'), id: 'e-1', at: '2026-03-01T10:00:00.000Z' };
      const clock = { now: () => Date.parse('2026-03-01T10:00:00.000Z') };
      await using long = await openLedger('memory:', { clock });
      await using short = await openLedger('memory:', { clock });
      await using fork = await openLedger('memory:', { clock });
      for (const each of [long, short, fork]) await each.append([first]);
      await long.append([{ ...settled('run-1'), id: 'e-2' }]);
      await fork.append([{ ...settled('run-1'), id: 'e-2', state: 'failed' }]);
      const checkpoint = await long.takeCheckpoint({ privateKey: KEYS.privateKey });

      expect(await codesUnder(short, checkpoint)).toEqual(['truncated']);
      const report = await fork.verify({ proof: { checkpoint, publicKey: KEYS.publicKey } });
      expect(report).toMatchObject({ ok: false, problems: [{ code: 'head_not_in_chain', seq: 2 }] });
      // An empty store of this kind is shorter than everything.
      expect(await codesUnder(ledger, checkpoint)).toEqual(['truncated']);
    });

    it('P4: names the frozen field that changed since, and lets everything else change', async () => {
      const { ledger } = await kind.open();
      await filled(ledger);
      const lines: string[] = [];
      const checkpoint = await ledger.takeCheckpoint({
        privateKey: KEYS.privateKey,
        writeRow: async (line) => void lines.push(line),
      });
      const underList = (list: readonly string[]) =>
        ledger.verify({ proof: { checkpoint, publicKey: KEYS.publicKey, frozenRows: linesOf(list) } });

      expect(checkpoint.rows?.count).toBe(1);
      await ledger.rows.put([
        parseTaskRow(JSON.stringify({ task_id: 't-1', status: 'failed', added_later: true })),
        parseTaskRow(JSON.stringify({ task_id: 't-2', status: 'completed' })),
      ]);
      expect(await underList(lines)).toMatchObject({ ok: true });

      for (const list of [[], [...lines, ...lines], [lines[0]?.replace('t-1', 't-2') ?? '']])
        expect(await underList(list)).toMatchObject({ problems: [{ code: 'checkpoint_altered' }] });
    });

    it('the log keeps a copy of the checkpoint, and a copy that was forged is named', async () => {
      const { ledger } = await kind.open();
      await filled(ledger);
      const checkpoint = await ledger.takeCheckpoint({ privateKey: KEYS.privateKey });
      await ledger.recordCheckpoint(checkpoint);
      expect(await eventsOf(ledger, 'ledger.checkpoint')).toMatchObject([{ checkpoint }]);
      const underKey = (publicKey: string) => ledger.verify({ rebuild: true, proof: { publicKey } });
      expect(await underKey(KEYS.publicKey)).toMatchObject({ ok: true });

      await ledger.recordCheckpoint({ ...checkpoint, seq: 1 });

      expect(await underKey(KEYS.publicKey)).toMatchObject({
        ok: false,
        problems: [{ code: 'checkpoint_altered', seq: 5 }],
      });
      expect(await underKey(OTHER_KEYS.publicKey)).toMatchObject({ ok: true });
    });

    it('P14: refuses a key that is none and signs nothing', async () => {
      const { ledger } = await kind.open();
      const rsa = generateKeyPairSync('rsa', {
        modulusLength: 2048,
        publicKeyEncoding: { type: 'spki', format: 'pem' },
        privateKeyEncoding: { type: 'pkcs8', format: 'pem' },
      });
      for (const privateKey of ['', 'no key', KEYS.publicKey, rsa.privateKey])
        await expect(ledger.takeCheckpoint({ privateKey })).rejects.toMatchObject({ code: 'invalid_key' });
      const checkpoint = await ledger.takeCheckpoint({ privateKey: KEYS.privateKey });
      for (const publicKey of ['', 'no key', rsa.publicKey])
        await expect(ledger.verify({ proof: { checkpoint, publicKey } })).rejects.toMatchObject({
          code: 'invalid_key',
        });
      expect(checkpoint).toMatchObject({ seq: 0, ledger_id: null });
      expect(await codesUnder(ledger, checkpoint)).toEqual([]);
    });
  });
}
