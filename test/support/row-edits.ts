import fc from 'fast-check';
import type { TamperedStore } from './tampering.ts';

/** Tables that follow from the log: the columns of their keys, those that hold numbers, texts, and JSON. */
interface Columns {
  readonly key: readonly [string, ...string[]];
  readonly numbers?: readonly string[];
  readonly texts?: readonly string[];
  readonly json?: readonly string[];
}

const FOLLOWING: Readonly<Record<string, Columns>> = {
  run: {
    key: ['run_id'],
    numbers: ['first_seq', 'is_open', 'owes_run', 'owes_patch', 'project_owned'],
    texts: ['task_id', 'owed_at', 'project_id'],
    json: ['record'],
  },
  invocation: {
    key: ['invocation_id'],
    numbers: ['first_seq', 'is_pending', 'is_owed'],
    texts: ['task_id', 'requested_at'],
    json: ['record'],
  },
  run_evidence: { key: ['task_id', 'run_id'], json: ['record'] },
  task_facts: { key: ['task_id'], numbers: ['last_seq'], json: ['record'] },
  containment: { key: ['run_id'], numbers: ['is_open'], json: ['record'] },
  managed_task: {
    key: ['task_id'],
    numbers: ['priority', 'created_seq'],
    texts: ['status'],
    json: ['record'],
  },
  task_link: { key: ['parent_id', 'child_id'] },
  lease: {
    key: ['task_id'],
    numbers: ['fence', 'ttl_ms', 'is_open', 'started_at_ms'],
    texts: ['run_id', 'holder', 'process'],
  },
  submission: {
    key: ['idempotency_key'],
    numbers: ['seq'],
    texts: ['task_id', 'run_id'],
    json: ['value'],
  },
  question: {
    key: ['question_id'],
    numbers: ['asked_seq', 'is_open', 'is_owed'],
    texts: ['task_id'],
    json: ['record'],
  },
  task_row: { key: ['task_id'], json: ['frozen'] },
};

/** No edit of any of the tables yet. */
export function noRowEdits(): Record<string, number> {
  return Object.fromEntries(Object.keys(FOLLOWING).map((table) => [table, 0]));
}

/** An edit of any row of any table that follows from the log. Places are counted round. */
export interface RowEdit {
  readonly table: string;
  /** Which row, in the order of the keys. */
  readonly row: number;
  /** Takes the row away, makes it another one's, or changes one column. */
  readonly act: 'delete' | 'key' | 'column';
  readonly column: number;
  /** Which field of a record. */
  readonly field: number;
}

/** Any of them. */
export const anyRowEdit: fc.Arbitrary<RowEdit> = fc.record({
  table: fc.constantFrom(...Object.keys(FOLLOWING)),
  row: fc.nat(),
  act: fc.constantFrom('delete', 'key', 'column', 'column', 'column'),
  column: fc.nat(),
  field: fc.nat(),
});

/** What is found first: its code, and how its message begins. */
export interface RowFinding {
  readonly code: string;
  readonly message: string;
}

type Row = Readonly<Record<string, unknown>>;

/** Does it. Answers what must be told first. */
export async function editRow(store: TamperedStore, edit: RowEdit): Promise<RowFinding> {
  const { table, act } = edit;
  const columns = FOLLOWING[table];
  if (columns === undefined) throw new Error(`nobody edits ${table}`);
  const place = store.placeOf(table);
  const { key } = columns;
  // What an orchestrator wrote follows from nothing; managed tasks begin with an m here.
  const only = table === 'task_row' ? `where task_id like 'm-%'` : '';
  const rows = await store.rows(`select * from ${place} ${only} order by ${key.join(', ')}`);
  const row = rows[edit.row % rows.length];
  if (row === undefined) throw new Error(`${table} is empty`);
  const where = key.map((one) => `${one} = '${String(row[one])}'`).join(' and ');
  const nameOf = (of: Row) => key.map((one) => String(of[one])).join(' / ');
  if (table === 'task_row') return editTaskRow(store, { row, where, field: edit.field });
  if (act === 'delete') {
    await store.run(`delete from ${place} where ${where}`);
    return { code: 'table_missing_row', message: `${table} lacks ${nameOf(row)}, which the log has` };
  }
  const changed = [...(columns.numbers ?? []), ...(columns.texts ?? []), ...(columns.json ?? [])];
  const column = changed[edit.column % changed.length];
  if (act === 'key' || column === undefined) {
    await store.run(`update ${place} set ${key[0]} = 'x.forged' where ${where}`);
    const forged = nameOf({ ...row, [key[0]]: 'x.forged' });
    return { code: 'table_extra_row', message: `${table} has ${forged}, the log does not` };
  }
  const isNumber = columns.numbers?.includes(column) === true;
  const isJson = columns.json?.includes(column) === true;
  const text = isJson ? otherJson(String(row[column]), edit.field) : `${String(row[column] ?? '')}x`;
  await store.run(
    `update ${place} set ${column} = ${isNumber ? Number(row[column]) + 1 : store.textOf(Buffer.from(text))}
     where ${where}`,
  );
  return { code: 'table_mismatch', message: `${table} ${nameOf(row)} differs from a replay of the log` };
}

/** Changes one field of the row of a managed task. */
async function editTaskRow(
  store: TamperedStore,
  { row, where, field }: { readonly row: Row; readonly where: string; readonly field: number },
): Promise<RowFinding> {
  const fields = JSON.parse(String(row['frozen'])) as Record<string, unknown>;
  // The time of the newest write is anybody's.
  const names = Object.keys(fields).filter((name) => name !== 'updated_at' && name !== 'task_id');
  const name = names[field % names.length] ?? '';
  const changed = { ...fields, [name]: otherValue(fields[name]) };
  const text = store.textOf(Buffer.from(JSON.stringify(changed)));
  await store.run(`update ${store.placeOf('task_row')} set frozen = ${text} where ${where}`);
  return {
    code: 'table_mismatch',
    message: `task_row ${String(row['task_id'])} differs from a replay of the log in ${name}`,
  };
}

/** A JSON text of which one value is another one. */
function otherJson(text: string, field: number): string {
  const value: unknown = JSON.parse(text);
  const leaves = leavesOf(value);
  const path = leaves[field % leaves.length] ?? [];
  return JSON.stringify(withOther(value, path));
}

function leavesOf(value: unknown): readonly (readonly string[])[] {
  if (typeof value !== 'object' || value === null || Object.keys(value).length === 0) return [[]];
  return Object.entries(value).flatMap(([key, item]) => leavesOf(item).map((path) => [key, ...path]));
}

function withOther(value: unknown, [key, ...rest]: readonly string[]): unknown {
  if (key === undefined) return otherValue(value);
  if (Array.isArray(value))
    return value.map((item: unknown, index) => (String(index) === key ? withOther(item, rest) : item));
  const fields = value as Record<string, unknown>;
  return { ...fields, [key]: withOther(fields[key], rest) };
}

function otherValue(value: unknown): unknown {
  if (typeof value === 'string') return `${value}x`;
  if (typeof value === 'number') return value + 1;
  if (typeof value === 'boolean') return !value;
  if (Array.isArray(value)) return [...(value as readonly unknown[]), 1];
  return value === null ? 0 : { ...value, x: 1 };
}
