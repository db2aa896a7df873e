import type { Ledger, RowProblem, RowPutResult } from '@custody/ledger';
import { printTaskRow } from '@custody/ledger';
import { createReconciler } from '@custody/reconciler';
import { z } from 'zod';
import { loadRow } from '../../../load-row.ts';
import { onOneLine } from '../../../output/compact-json.ts';
import { linesOf } from '../json-lines.ts';
import { parseRowLines } from '../parse-lines.ts';
import type { Reply, Route } from '../route.ts';
import { route } from '../route.ts';
import { NOT_FOUND, ok, RefusalBody, Row, Run, stream } from '../schemas/answers.ts';
import { ofTask } from '../schemas/requests.ts';
import { count, id, jsonObject, queryFlag, text } from '../schemas/values.ts';

const result = z.object({
  outcome: z.enum(['written', 'unchanged', 'refused']),
  task_id: id,
  reason: text.optional(),
  fields: z.array(text).optional(),
});

type Refused = Extract<RowPutResult, { readonly outcome: 'refused' }>;

/** Rows of tasks. */
export const ROW_ROUTES: readonly Route[] = [
  route({
    method: 'put',
    tag: 'tasks',
    use: 'write',
    path: '/tasks',
    summary: 'Write rows under the terminal write guard, each on its own.',
    body: z.string(),
    bodyLines: { line: Row },
    answers: {
      200: ok(z.object({ written: count, unchanged: count, results: z.array(result) })),
      409: { description: 'Rows are frozen; the others are written.', schema: RefusalBody },
    },
    handle: async ({ body, ledger }) => putReply(await ledger.rows.put(parseRowLines(body))),
  }),
  route({
    method: 'get',
    tag: 'tasks',
    use: 'read',
    path: '/tasks',
    summary: 'List rows by task id.',
    query: z.strictObject({ status: text.optional(), stale: queryFlag.optional() }),
    answers: {
      200: stream(Row, 'A row a line. A row that can not be read is left out; {"problem":{…}} tells of it.'),
    },
    handle: async ({ query: { status, stale }, ledger }) => ({
      lines: stale === true ? staleRows(ledger, status) : allRows(ledger, status),
    }),
  }),
  route({
    method: 'get',
    tag: 'tasks',
    use: 'read',
    path: '/tasks/{task_id}',
    summary: 'Read a row; `effective`: as a reader of results sees it.',
    params: ofTask,
    query: z.strictObject({ effective: queryFlag.optional() }),
    answers: { 200: ok(Row, 'The row.'), ...NOT_FOUND },
    handle: async ({ params: { task_id }, query: { effective }, ledger }) => {
      const row = await loadRow(ledger, task_id, { effective: effective ?? false });
      return row === null ? notFound({ task_id }) : { text: onOneLine(printTaskRow(row)) };
    },
  }),
  route({
    method: 'get',
    tag: 'tasks',
    use: 'read',
    path: '/tasks/{task_id}/record',
    summary: 'Read everything that is known of a managed task, its attempts with it.',
    params: ofTask,
    answers: { 200: ok(jsonObject, 'The task.'), ...NOT_FOUND },
    handle: async ({ params: { task_id }, ledger }) => {
      const task = await ledger.tasks.get(task_id);
      return task === null ? notFound({ task_id }) : { value: task };
    },
  }),
  route({
    method: 'get',
    tag: 'runs',
    use: 'read',
    path: '/tasks/{task_id}/runs',
    summary: 'List every run of a task, oldest first.',
    params: ofTask,
    answers: { 200: stream(Run, 'A run a line.'), ...NOT_FOUND },
    handle: async ({ params: { task_id }, ledger }) => {
      const runs = await ledger.runs.list(task_id);
      if (runs.length === 0 && (await loadRow(ledger, task_id)) === null) return notFound({ task_id });
      return { lines: linesOf(runs) };
    },
  }),
];

/** There is no such thing. */
export function notFound(facts: Readonly<Record<string, string>>): Reply {
  return { status: 404, value: { outcome: 'not_found', ...facts } };
}

function putReply(results: readonly RowPutResult[]): Reply {
  const counts = {
    written: results.filter(({ outcome }) => outcome === 'written').length,
    unchanged: results.filter(({ outcome }) => outcome === 'unchanged').length,
  };
  const refused = results.filter((item): item is Refused => item.outcome === 'refused');
  const [first] = refused;
  if (first === undefined) return { value: { ...counts, results } };
  const others = refused.map(({ task_id, fields }) => ({ task_id, fields }));
  return { status: 409, value: { ...first, ...counts, refused: others, results } };
}

async function* allRows(ledger: Ledger, status: string | undefined): AsyncGenerator<string> {
  const problems: RowProblem[] = [];
  const tell = () => problems.splice(0).map((problem) => `${JSON.stringify({ problem })}\n`);
  const rows = ledger.rows.list({
    ...(status === undefined ? {} : { status }),
    onProblem: (problem) => problems.push(problem),
  });
  for await (const { row } of rows) {
    yield* tell();
    yield `${onOneLine(printTaskRow(row))}\n`;
  }
  yield* tell();
}

/** The plan of a backfill is the only exact answer: it compares every candidate with the log. */
async function* staleRows(ledger: Ledger, status: string | undefined): AsyncGenerator<string> {
  const report = await createReconciler(ledger).backfill({ dryRun: true });
  if ('outcome' in report) return;
  for (const { task_id, error } of report.failed)
    yield `${JSON.stringify({ problem: { task_id, place: task_id, message: error } })}\n`;
  for (const taskId of report.refreshed) {
    const row = await loadRow(ledger, taskId);
    if (row !== null && (status === undefined || row.status === status))
      yield `${onOneLine(printTaskRow(row))}\n`;
  }
}
