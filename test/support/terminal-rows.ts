import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { JsonObject, Ledger } from '@custody/ledger';
import { isJsonObject, parseTaskRow } from '@custody/ledger';
import type { OpenStore } from '../contract/stores.ts';
import { collect } from './collect.ts';

/** Writes a task's row as its orchestrator would. */
export async function putRow(ledger: Ledger, row: JsonObject & { readonly task_id: string }): Promise<void> {
  const [result] = await ledger.rows.put([parseTaskRow(JSON.stringify(row))]);
  if (result?.outcome !== 'written') throw new Error(`the row of ${row.task_id} was not written`);
}

/** A failed row that discloses these runs. */
export function failedRow(
  taskId: string,
  list: readonly string[] | null,
  more: JsonObject = {},
): JsonObject & { readonly task_id: string } {
  return {
    task_id: taskId,
    status: 'failed',
    reason_code: 'provider_unavailable',
    ...(list === null ? {} : { delegated_runs_unreconciled: list }),
    ...more,
  };
}

/** The five counters as they were frozen at a terminal write. */
export function counters(started: number, settled: number, succeeded = 0, failed = 0): JsonObject {
  return {
    delegated_runs_started: started,
    delegated_runs_settled: settled,
    delegated_runs_succeeded: succeeded,
    delegated_runs_failed: failed,
    delegated_runs_source_unresolved: 0,
  };
}

/** The row of a task; an error if there is none. */
export async function rowOf(ledger: Ledger, taskId: string): Promise<JsonObject> {
  const loaded = await ledger.rows.load(taskId);
  if (loaded === null) throw new Error(`there is no row of ${taskId}`);
  return loaded.row.value;
}

/** The stored list of a row. */
export async function listOf(ledger: Ledger, taskId: string): Promise<unknown> {
  return (await rowOf(ledger, taskId))['delegated_runs_unreconciled'];
}

/** The stored envelope of a row. */
export async function envelopeOf(ledger: Ledger, taskId: string): Promise<JsonObject> {
  return objectIn(await rowOf(ledger, taskId), 'delegate_terminal_reconciliation');
}

/** The stored execution evidence of a row. */
export async function evidenceIn(ledger: Ledger, taskId: string): Promise<JsonObject> {
  return objectIn(objectIn(await rowOf(ledger, taskId), 'subagent_envelope'), 'execution_evidence');
}

function objectIn(source: JsonObject, field: string): JsonObject {
  const value = source[field];
  if (!isJsonObject(value)) throw new Error(`${field} is no object`);
  return value;
}

/** Everything that a pass without work must leave as it is: the log, every row and its version; on disk, every byte. */
export async function fingerprint({
  ledger,
  directory,
}: Pick<OpenStore, 'ledger' | 'directory'>): Promise<unknown> {
  const rows = await collect(ledger.rows.list({}));
  return {
    head: await ledger.head(),
    rows: rows.map(({ row, version }) => [row.task_id, version, [...row.raw]]),
    files:
      ledger.kind === 'jsonl' && directory !== null
        ? filesOf(directory, ['logs', 'task_results', 'archive'])
        : null,
  };
}

function filesOf(directory: string, folders: readonly string[]): Record<string, string> {
  const files: Record<string, string> = {};
  for (const folder of folders) {
    for (const name of readdirSafely(join(directory, folder))) {
      files[`${folder}/${name}`] = readFileSync(join(directory, folder, name), 'base64');
    }
  }
  return files;
}

function readdirSafely(folder: string): readonly string[] {
  try {
    return readdirSync(folder, { withFileTypes: true }).flatMap((entry) =>
      entry.isFile() ? [entry.name] : [],
    );
  } catch {
    return [];
  }
}
