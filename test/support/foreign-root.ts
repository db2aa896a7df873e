import {
  appendFileSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  renameSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import type { JsonObject, Ledger, OpenLedgerOptions } from '@custody/ledger';
import { openLedger } from '@custody/ledger';
import { onTestFinished } from 'vitest';

/** A data root in a folder of its own, written by hand as another program would. */
export interface ForeignRoot {
  readonly path: string;
  readonly url: string;
  /** The path of something under the root. */
  at(...names: readonly string[]): string;
  /** Appends text to the live log as it is. */
  append(text: string): void;
  /** Appends rows to the live log, one a line. */
  rows(...rows: readonly JsonObject[]): void;
  /** Writes any file under the root. */
  put(name: string, text: string): void;
  text(name: string): string;
  /** Renames the live log into the archive and starts an empty one, as its owner does. */
  rotate(name: string): void;
  open(options?: OpenLedgerOptions & { readonly dialect?: 'custody' | 'ouroboros' }): Promise<Ledger>;
}

/** An empty root; it and every ledger that was opened on it are gone at the end of the test. */
export function foreignRoot(): ForeignRoot {
  const path = mkdtempSync(join(tmpdir(), 'custody-jsonl-'));
  const ledgers: Ledger[] = [];
  onTestFinished(async () => {
    for (const ledger of ledgers) await ledger.close();
    rmSync(path, { recursive: true, force: true });
  });
  const at = (...names: readonly string[]) => join(path, ...names);
  const put = (name: string, text: string) => {
    mkdirSync(dirname(at(name)), { recursive: true });
    writeFileSync(at(name), text);
  };
  const append = (text: string) => {
    mkdirSync(at('logs'), { recursive: true });
    appendFileSync(at('logs', 'events.jsonl'), text);
  };
  return {
    path,
    url: `jsonl:${path}`,
    at,
    put,
    append,
    rows: (...rows) => append(rows.map((row) => `${JSON.stringify(row)}\n`).join('')),
    text: (name) => (existsSync(at(name)) ? readFileSync(at(name), 'utf8') : ''),
    rotate: (name) => {
      mkdirSync(at('archive'), { recursive: true });
      renameSync(at('logs', 'events.jsonl'), at('archive', name));
      put('logs/events.jsonl', '');
    },
    open: async ({ dialect, ...options } = {}) => {
      const ledger = await openLedger(
        dialect === undefined ? `jsonl:${path}` : `jsonl:${path}?dialect=${dialect}`,
        options,
      );
      ledgers.push(ledger);
      return ledger;
    },
  };
}

/** A start as the log's owner writes it. */
export function startRow(runId: string, taskId: string, more: JsonObject = {}): JsonObject {
  return {
    ts: '2026-03-01T00:00:00+00:00',
    type: 'delegate_run_started',
    run_id: runId,
    task_id: taskId,
    route: 'claude',
    ...more,
  };
}

/** A success as the log's owner writes it. */
export function settleRow(runId: string, taskId: string, more: JsonObject = {}): JsonObject {
  return {
    ts: '2026-03-01T00:10:00+00:00',
    type: 'delegate_run_settled',
    run_id: runId,
    task_id: taskId,
    state: 'succeeded',
    cost_usd: 1.25,
    spend_disclosed: true,
    ...more,
  };
}

/** A row of a subsystem that is none of ours. */
export function noiseRow(more: JsonObject = {}): JsonObject {
  return { ts: '2026-03-01T00:05:00+00:00', type: 'llm_call', text: 'delegate_run_started', ...more };
}
