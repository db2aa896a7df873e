import { createHash } from 'node:crypto';
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Ledger, NewEvent } from '@custody/ledger';
import {
  CheckpointError,
  InvalidEventError,
  InvalidRowError,
  openJournals,
  openLedger,
  parseCheckpoint,
  parseStoreUrl,
  parseTaskRow,
  printTaskRow,
  UsageError,
} from '@custody/ledger';
import { createReconciler } from '@custody/reconciler';
import { expect, onTestFinished, test } from 'vitest';
import { collect } from '../support/collect.ts';
import { settled, started } from '../support/events.ts';
import { hostileRun } from '../support/hostile-run.ts';
import { jsonlRoot } from '../support/jsonl-root.ts';
import { mutated } from '../support/mutate.ts';
import type { Random } from '../support/root-random.ts';
import { signingKeys } from '../support/signing-keys.ts';
import { failedRow } from '../support/terminal-rows.ts';

// Together 100,000 inputs, a tenth of them in every run.

const LONG_TEST_MS = 1_800_000;

function folder(): string {
  const path = mkdtempSync(join(tmpdir(), 'custody-hostile-'));
  onTestFinished(() => rmSync(path, { recursive: true, force: true }));
  return path;
}

const SAMPLES = {
  custody: [
    '{"id":"e-1","type":"run.started","at":"2026-03-01T00:00:00.000Z","recorded_at":"2026-03-01T00:00:00.000Z","task_id":"t-1","run_id":"run-1","snapshot_id":"s-1"}',
    '{"type":"run.settled","run_id":"run-1","task_id":"t-1","state":"succeeded","cost_usd":1.25,"spend_disclosed":true}',
    '{"type":"chat","text":"nothing of ours"}',
  ],
  ouroboros: [
    '{"ts":"2026-03-01T00:00:00Z","type":"delegate_run_started","run_id":"run-1","task_id":"t-1","snapshot_id":"s-1"}',
    '{"ts":"2026-03-01T00:00:01Z","type":"delegate_run_settled","run_id":"run-1","task_id":"t-1","state":"succeeded","cost_usd":1.25}',
    '{"ts":"2026-03-01T00:00:02Z","type":"llm_round","text":"nothing of theirs"}',
  ],
} as const;

const NEWLINE = Buffer.from('\n');

/** True for a line that any reader takes for JSON: an event, or a value that is none of ours. */
function isJson(line: Buffer): boolean {
  try {
    JSON.parse(line.toString('utf8'));
    return true;
  } catch {
    return false;
  }
}

/** True where a reader need not look inside: a row of another subsystem that begins and ends like one. */
function looksForeign(line: Buffer): boolean {
  const text = line.toString('latin1').replaceAll(/^[ \t\r]+|[ \t\r]+$/g, '');
  return text.startsWith('{') && text.endsWith('}');
}

test.each(['custody', 'ouroboros'] as const)(
  'P14, V5: hostile lines in a %s log are named with their line, keep their bytes, and take no good line with them',
  async (dialect) => {
    const size = 40;
    const good = (index: number) =>
      SAMPLES[dialect][0].replaceAll('run-1', `good-${index}`).replace('e-1', `g-${index}`);
    await hostileRun(`lines (${dialect})`, { inputs: 20_000, size }, async (random, round) => {
      const root = jsonlRoot(dialect);
      const lines = Array.from({ length: size }, () =>
        mutated(random, random.pick(SAMPLES[dialect]), random.pick(SAMPLES[dialect])),
      );
      const bytes = Buffer.concat(
        lines.flatMap((line, index) => [line, NEWLINE, Buffer.from(good(index)), NEWLINE]),
      );
      root.write(bytes);
      const ledger = await openLedger(`jsonl:${root.path}`);
      const runs = new Set(
        (await collect(ledger.read({ type: 'run.started' }))).map(({ event }) => event['run_id']),
      );
      const report = await ledger.verify();

      expect(
        Array.from({ length: size }, (_, index) => `good-${index}`).filter((id) => !runs.has(id)),
      ).toEqual([]);
      expect(readFileSync(root.log).equals(bytes)).toBe(true);
      const named = new Set(report.notes.filter(({ code }) => code === 'torn_line').map(({ line }) => line));
      let number = 0;
      const unnamed: string[] = [];
      for (let at = 0; at < bytes.length; ) {
        const end = bytes.indexOf(NEWLINE, at);
        const line = bytes.subarray(at, end);
        number += 1;
        at = end + 1;
        const isBlank = line.every((byte) => byte === 0x20 || byte === 0x09 || byte === 0x0d);
        if (isBlank || isJson(line) || looksForeign(line) || named.has(number) || named.size >= 100) continue;
        unnamed.push(`${number}: ${line.toString('latin1').slice(0, 200)}`);
      }
      expect(unnamed).toEqual([]);
      await ledger.append([started('after', 't-1')]);
      expect(readFileSync(root.log).subarray(0, bytes.length).equals(bytes)).toBe(true);
      await ledger.close();
      if (round % 10 === 0) {
        const again = await openLedger(`jsonl:${root.path}`);
        expect(await again.verify({ rebuild: true })).toMatchObject({ events: report.events + 1 });
        await again.close();
      }
      await root.remove();
      return 'read around';
    });
  },
  LONG_TEST_MS,
);

test(
  'P14: hostile events are taken whole or refused with field and reason, and a refused one changes nothing',
  async () => {
    await using ledger = await openLedger('memory:');
    await hostileRun('events', { inputs: 15_000 }, async (random) => {
      const text = mutated(random, random.pick(SAMPLES.custody), random.pick(SAMPLES.custody)).toString(
        'utf8',
      );
      let input: unknown;
      try {
        input = JSON.parse(text);
      } catch {
        return 'no JSON';
      }
      const before = await ledger.head();
      try {
        await ledger.append([input as NewEvent]);
        return 'taken';
      } catch (error) {
        if (!(error instanceof InvalidEventError)) throw error;
        expect(error.message.length).toBeLessThan(2 * text.length + 1000);
        expect(await ledger.head()).toEqual(before);
        return 'refused';
      }
    });
    expect(await ledger.verify({ rebuild: true })).toMatchObject({ ok: true });
  },
  LONG_TEST_MS,
);

const ROW = JSON.stringify(
  failedRow('t-1', ['run-1'], { big: 1, subagent_envelope: { a: [1, 2, { b: null }] }, _schema_version: 1 }),
  null,
  2,
);

test(
  'P14: hostile row documents are refused as rows, or come back as they were',
  async () => {
    await hostileRun('row documents', { inputs: 15_000 }, (random) => {
      const text = mutated(random, ROW, ROW).toString('utf8');
      try {
        const row = parseTaskRow(text, 't-1');
        expect(parseTaskRow(printTaskRow(row), 't-1').raw).toEqual(
          new Map([...row.raw, ['task_id', JSON.stringify('t-1')]]),
        );
        return 'read';
      } catch (error) {
        if (!(error instanceof InvalidRowError)) throw error;
        return 'refused';
      }
    });
  },
  LONG_TEST_MS,
);

test(
  'P14: hostile row files are named by verify, left byte for byte, and stop no pass',
  async () => {
    const size = 20;
    await hostileRun('row files', { inputs: 4000, size }, async (random) => {
      const root = jsonlRoot();
      mkdirSync(join(root.path, 'task_results'));
      root.write(`${SAMPLES.custody[0]}\n`);
      const files = Array.from({ length: size }, (_, index) => {
        const path = join(root.path, 'task_results', `t-${index + 2}.json`);
        writeFileSync(path, mutated(random, ROW.replace('t-1', `t-${index + 2}`), ROW));
        return { id: `t-${index + 2}`, path, bytes: readFileSync(path) };
      });
      writeFileSync(join(root.path, 'task_results', 't-1.json'), ROW);
      const ledger = await openLedger(`jsonl:${root.path}`);
      const pass = await createReconciler(ledger).backfill();
      const report = await ledger.verify({ rebuild: true });
      const unreadable = new Set(report.notes.map(({ task_id }) => task_id));
      for (const { id, path, bytes } of files)
        if (unreadable.has(id)) expect(readFileSync(path).equals(bytes)).toBe(true);
      expect('failed' in pass && pass.failed.every(({ task_id }) => unreadable.has(task_id))).toBe(true);
      expect(report.problems).toEqual([]);
      await ledger.close();
      await root.remove();
      return 'passed over';
    });
  },
  LONG_TEST_MS,
);

/** A ledger with a run that has ended without its result, and the journal that holds it. */
async function withJournal(ledger: Ledger, directory: string): Promise<{ name: string; text: string }> {
  await ledger.tasks.create({ taskId: 'm-1', title: 'T' });
  const run = await ledger.runs.claim({ taskId: 'm-1', holder: 'a' });
  if (run.outcome !== 'claimed') throw new Error('not claimed');
  await openJournals(directory).write({ taskId: 'm-1', runId: run.run_id, result: { answer: 'yes' } });
  const [name = ''] = readdirSync(directory);
  return { name, text: readFileSync(join(directory, name), 'utf8') };
}

test(
  'P13, P14: hostile journals never complete a task with what nobody wrote, and their bytes are kept',
  async () => {
    const size = 10;
    const directory = folder();
    await using ledger = await openLedger('memory:');
    const { name, text } = await withJournal(ledger, directory);
    rmSync(join(directory, name));
    const before = await ledger.head();
    let done = false;
    await hostileRun('journals', { inputs: 10_000, size }, async (random) => {
      const place = join(directory, `r-${random.hex(12)}`);
      mkdirSync(place);
      const written = Array.from({ length: size }, (_, index) => {
        const bytes = mutated(random, text, text);
        // The right name, and names that say something else.
        const file = index === 0 ? name : `m-${random.int(1, 3)}.run-x${index}.terminal.pending.json`;
        writeFileSync(join(place, file), bytes);
        return createHash('sha256').update(bytes).digest('hex');
      });
      const report = await openJournals(place).recover(ledger);
      const kept = readdirSync(place).map((file) =>
        createHash('sha256')
          .update(readFileSync(join(place, file)))
          .digest('hex'),
      );
      // What was applied is in the ledger, and its file is gone; a damage may have left the meaning as it was.
      expect(written.filter((hash) => !kept.includes(hash)).length).toBe(report.applied);
      // An unreadable result of a run whose worker is gone gives the task back; nothing else may be written.
      const since = await collect(ledger.read({ after: before.seq }));
      const allowed = new Set([
        'claim.reclaimed',
        'run.closed_absent',
        'task.completed',
        'run.settled',
        'task.unblocked',
        'task.promoted',
      ]);
      expect(since.map(({ event }) => event.type).filter((type) => !allowed.has(type))).toEqual([]);
      if (report.applied === 0)
        expect(since.some(({ event }) => event.type === 'task.completed' && !done)).toBe(false);
      done ||= report.applied > 0;
      rmSync(place, { recursive: true, force: true });
      return report.applied === 0 ? 'set aside' : 'applied';
    });
    const [completion] = await collect(ledger.read({ type: 'task.completed' }));
    if (completion !== undefined) expect(completion.event['result']).toEqual({ answer: 'yes' });
  },
  LONG_TEST_MS,
);

test(
  'P7, P14: hostile cursor files and heads make a sweep begin again, and never skip a run or end it',
  async () => {
    await hostileRun('cursors and heads', { inputs: 2000 }, async (random, round) => {
      const root = jsonlRoot();
      const ledger = await openLedger(`jsonl:${root.path}`);
      await ledger.append([started('run-1', 't-1'), settled('run-1')]);
      await ledger.rows.put([parseTaskRow(JSON.stringify(failedRow('t-1', ['run-1'])))]);
      await createReconciler(ledger).sweep();
      await ledger.rows.put([parseTaskRow(JSON.stringify(failedRow('t-2', ['run-2'])))]);
      await ledger.append([started('run-2', 't-2'), settled('run-2')]);
      await ledger.close();
      const file = join(
        root.path,
        'state',
        round % 2 === 0 ? 'delegate_terminal_refresh_cursor.json' : 'custody.heads.jsonl',
      );
      expect(existsSync(file)).toBe(true);
      const bytes = mutated(random, readFileSync(file), readFileSync(root.log));
      writeFileSync(file, bytes);

      const again = await openLedger(`jsonl:${root.path}`);
      const report = await again.verify({ rebuild: true });
      const sweep = await createReconciler(again).sweep();
      const row = (await again.rows.load('t-2'))?.row.value;
      await again.close();
      await root.remove();

      expect('failed' in sweep && sweep.failed).toEqual([]);
      const isHealed = JSON.stringify(row?.['delegated_runs_unreconciled']) === '[]';
      // A cursor that says, well formed, that everything was seen is believed up to the next backfill.
      return `${report.ok ? 'ok' : 'named'}, ${isHealed ? 'healed' : 'left to the backfill'}`;
    });
  },
  LONG_TEST_MS,
);

test(
  'P14: hostile checkpoints are refused, or named as altered, and never vouch for anything',
  async () => {
    const keys = signingKeys();
    await using ledger = await openLedger('memory:');
    await ledger.append([started('run-1', 't-1')]);
    const checkpoint = await ledger.takeCheckpoint({ privateKey: keys.privateKey });
    const text = JSON.stringify(checkpoint);
    await hostileRun('checkpoints', { inputs: 14_000 }, async (random) => {
      const changed = mutated(random, text, text).toString('utf8');
      try {
        const read = parseCheckpoint(changed);
        const report = await ledger.verify({ proof: { checkpoint: read, publicKey: keys.publicKey } });
        // Only one that says the very same passes, such as with a blank more.
        expect(report.ok).toBe(JSON.stringify(read) === text);
        return report.ok ? 'the same' : 'named';
      } catch (error) {
        if (!(error instanceof CheckpointError)) throw error;
        return 'refused';
      }
    });
  },
  LONG_TEST_MS,
);

const URLS: readonly [string, ...string[]] = [
  'sqlite:.custody/custody.db?durability=normal',
  'jsonl:/var/lib/root?dialect=ouroboros',
  'postgres://user:secret@host:5432/database?schema=custody&ledger=main',
  'http://127.0.0.1:8080',
  'memory:',
];

test(
  'P14: hostile store URLs name a place or are refused, and a password is never repeated',
  async () => {
    await hostileRun('store URLs', { inputs: 10_000 }, (random: Random) => {
      const url = mutated(random, random.pick(URLS), random.pick(URLS)).toString('utf8');
      try {
        return parseStoreUrl(url).kind;
      } catch (error) {
        if (!(error instanceof UsageError)) throw error;
        // A path may hold what looks like one.
        if (!/^(sqlite|jsonl):/.test(url))
          expect(`${error.message} ${JSON.stringify(error.facts)}`).not.toContain(':secret@');
        return 'refused';
      }
    });
  },
  LONG_TEST_MS,
);
