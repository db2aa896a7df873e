import type { Ledger, LiveFields, LoadedRow, RowProblem, RowUpdateResult } from '@custody/ledger';
import { InvalidRowError, printRawObject } from '@custody/ledger';
import { z } from 'zod';
import { toErrorReport } from '../../../output/error-report.ts';
import { camelKeys } from '../camel-keys.ts';
import { replyTo } from '../reply-to.ts';
import type { Route } from '../route.ts';
import { route } from '../route.ts';
import { NOT_FOUND, ok, REFUSALS, stream } from '../schemas/answers.ts';
import { NewEvent, ofTask, Position, Seen, SeenExtend } from '../schemas/requests.ts';
import { count, fence, id, jsonObject, seq, spanMs, text, time } from '../schemas/values.ts';
import { notFound } from './row-routes.ts';

const tag = 'ports';
const read = { method: 'get', tag, use: 'read' } as const;
const ask = { method: 'post', tag, use: 'read' } as const;
const write = { method: 'post', tag, use: 'write' } as const;
const command = { method: 'post', tag, use: 'command' } as const;

const ids = z.strictObject({ task_ids: z.array(id) });
const idList = z.object({ task_ids: z.array(id) });
const objects = z.array(jsonObject);

/** A row with its exact text, and the version that a compare-and-set names. */
const loaded = z.object({ task_id: id, text, version: text });
const name = z.strictObject({ name: text });

const update = z.strictObject({
  task_id: id,
  expected_version: text,
  custody_seq: seq,
  live: jsonObject,
  confirms: z.boolean(),
  evidence: NewEvent,
});

const updated = z.union([
  z.object({ outcome: z.literal('updated'), evidence: z.enum(['recorded', 'missing', 'not_supported']) }),
  z.object({ outcome: z.enum(['changed_meanwhile', 'gone']) }),
  z.object({ outcome: z.literal('failed'), error: jsonObject }),
]);

const requeued = z.object({ outcome: z.literal('requeued'), task_id: id, status: text });

/** What a reconciler in another process works on. */
export const PORT_ROUTES: readonly Route[] = [
  route({
    ...ask,
    path: '/ports/rows/load',
    summary: 'Read rows with their versions; those that are not there, or can not be read, are left out.',
    body: ids,
    answers: { 200: ok(z.object({ rows: z.array(loaded) })) },
    handle: async ({ body: { task_ids }, ledger }) => {
      const rows = await loadRows(ledger.rows, task_ids);
      return { value: { rows: [...rows].map(([task_id, row]) => toLoaded(task_id, row)) } };
    },
  }),
  route({
    ...read,
    path: '/ports/rows/stale',
    summary: 'Name the terminal rows that may have stopped being true.',
    answers: { 200: ok(idList) },
    handle: async ({ ledger }) => ({ value: { task_ids: await ledger.rows.selectStale() } }),
  }),
  route({
    ...read,
    path: '/ports/rows/count',
    summary: 'Count the rows.',
    answers: { 200: ok(z.object({ count })) },
    handle: async ({ ledger }) => ({ value: { count: await ledger.rows.count() } }),
  }),
  route({
    ...read,
    path: '/ports/rows',
    summary: 'List rows with their versions.',
    query: z.strictObject({ status: text.optional() }),
    answers: {
      200: stream(z.union([loaded, z.object({ problem: jsonObject })]), 'A row, or a problem, a line.'),
    },
    handle: async ({ query: { status }, ledger }) => ({ lines: listed(ledger.rows, status) }),
  }),
  route({
    ...read,
    path: '/ports/rows/{task_id}',
    summary: 'Read a row with its version.',
    params: ofTask,
    answers: { 200: ok(loaded), ...NOT_FOUND },
    handle: async ({ params: { task_id }, ledger }) => {
      const row = await ledger.rows.load(task_id);
      return row === null ? notFound({ task_id }) : { value: toLoaded(task_id, row) };
    },
  }),
  route({
    ...write,
    path: '/ports/rows/update',
    summary: 'Write live fields, each row under its compare-and-set.',
    body: z.strictObject({ updates: z.array(update) }),
    answers: { 200: ok(z.object({ results: z.array(updated) })) },
    handle: async ({ body: { updates }, ledger }) => {
      const results = await ledger.rows.update(
        updates.map((item) => ({
          ...item,
          live: item.live as LiveFields,
        })),
      );
      return { value: { results: results.map(toUpdated) } };
    },
  }),
  route({
    ...write,
    path: '/ports/rows/confirm',
    summary: 'Note rows that were found true.',
    body: z.strictObject({
      rows: z.array(z.strictObject({ task_id: id, version: text, custody_seq: seq })),
    }),
    answers: { 200: ok(z.object({ confirmed: count })) },
    handle: async ({ body: { rows }, ledger }) => {
      await ledger.rows.confirm?.(rows);
      return { value: { confirmed: rows.length } };
    },
  }),
  route({
    ...ask,
    path: '/ports/custody/tasks',
    summary: 'Read what the log says of tasks, of one moment.',
    body: ids,
    answers: { 200: ok(z.object({ tasks: objects })) },
    handle: async ({ body: { task_ids }, ledger }) => ({
      value: { tasks: [...(await ledger.custody.tasks(task_ids)).values()] },
    }),
  }),
  route({
    ...read,
    path: '/ports/custody/runs/{run_id}',
    summary: 'Read what the log says of a run.',
    params: z.strictObject({ run_id: text }),
    answers: { 200: ok(jsonObject), ...NOT_FOUND },
    handle: async ({ params: { run_id }, ledger }) => {
      const run = await ledger.custody.run(run_id);
      return run === null ? notFound({ run_id }) : { value: run };
    },
  }),
  route({
    ...read,
    path: '/ports/custody/invocations/{invocation_id}',
    summary: 'Read what the log says of an invocation.',
    params: z.strictObject({ invocation_id: text }),
    answers: { 200: ok(jsonObject), ...NOT_FOUND },
    handle: async ({ params: { invocation_id }, ledger }) => {
      const invocation = await ledger.custody.invocation(invocation_id);
      return invocation === null ? notFound({ invocation_id }) : { value: invocation };
    },
  }),
  route({
    ...read,
    path: '/ports/custody/open',
    summary: 'Read every open run, pending invocation and open fault, and the tasks that owe something.',
    answers: {
      200: ok(
        z.object({
          readable: z.boolean(),
          runs: objects,
          invocations: objects,
          faults: objects,
          task_ids: z.array(id),
        }),
      ),
    },
    handle: async ({ ledger: { custody } }) => ({
      value: {
        readable: await custody.isReadable(),
        runs: await custody.openRuns(),
        invocations: await custody.pendingInvocations(),
        faults: await custody.openFaults(),
        task_ids: await custody.owingTaskIds(),
      },
    }),
  }),
  route({
    ...read,
    path: '/ports/custody/totals',
    summary: 'Read the debts of the whole ledger.',
    answers: { 200: ok(jsonObject) },
    handle: async ({ ledger }) => ({ value: await ledger.custody.totals() }),
  }),
  route({
    ...ask,
    path: '/ports/scan',
    summary: 'Find the tasks whose runs settled since a position.',
    body: Position,
    answers: {
      200: ok(
        z.union([
          z.object({
            outcome: z.literal('scanned'),
            task_ids: z.array(id),
            scanned: count,
            next: jsonObject,
            moved: z.boolean(),
          }),
          z.object({ outcome: z.literal('unreadable') }),
        ]),
      ),
    },
    handle: async ({ body: { position }, ledger }) => ({ value: await ledger.scan.settledAfter(position) }),
  }),
  route({
    ...read,
    path: '/ports/state/{name}',
    summary: 'Read a document of the reconciler.',
    params: name,
    answers: { 200: ok(z.object({ value: jsonObject.nullable() })) },
    handle: async ({ params, ledger }) => ({ value: { value: await ledger.state.load(params.name) } }),
  }),
  route({
    ...write,
    method: 'put',
    path: '/ports/state/{name}',
    summary: 'Keep a document of the reconciler.',
    params: name,
    body: z.strictObject({ value: jsonObject }),
    answers: { 200: ok(z.object({ saved: z.literal(true) })) },
    handle: async ({ params, body, ledger }) => {
      await ledger.state.save(params.name, body.value);
      return { value: { saved: true } };
    },
  }),
  route({
    ...write,
    path: '/ports/leaders/{name}',
    summary: 'Take or renew a lease among processes.',
    params: name,
    body: z.strictObject({ holder: text, ttl_ms: spanMs }),
    answers: {
      200: ok(
        z.union([
          z.object({ outcome: z.literal('leading'), fence, expires_at: time }),
          z.object({ outcome: z.literal('held'), holder: text, expires_at: time }),
        ]),
      ),
    },
    handle: async ({ params, body, ledger }) => ({
      value: await ledger.leaders.tryLead(params.name, body.holder, body.ttl_ms),
    }),
  }),
  route({
    ...write,
    method: 'delete',
    path: '/ports/leaders/{name}',
    summary: 'Give a lease among processes up.',
    params: name,
    query: z.strictObject({ holder: text }),
    answers: { 200: ok(z.object({ resigned: z.literal(true) })) },
    handle: async ({ params, query, ledger }) => {
      await ledger.leaders.resign(params.name, query.holder);
      return { value: { resigned: true } };
    },
  }),
  route({
    ...read,
    path: '/ports/leases',
    summary: 'Read every running task with its lease, and the times that this ledger goes by.',
    answers: { 200: ok(z.object({ settings: jsonObject, running: objects })) },
    handle: async ({ ledger }) => ({
      value: { settings: await ledger.leases.settings(), running: await ledger.leases.running() },
    }),
  }),
  route({
    ...command,
    path: '/ports/leases/{task_id}/extend',
    summary: 'Give an expired lease more time.',
    params: ofTask,
    body: SeenExtend,
    answers: { 200: ok(z.object({ outcome: z.literal('extended') })), ...REFUSALS },
    handle: async ({ params, body: { reason, ...seen }, commands }) =>
      replyTo(await commands.leases.extend(camelKeys({ ...params, ...seen }), reason)),
  }),
  route({
    ...command,
    path: '/ports/leases/{task_id}/release',
    summary: 'Release an expired lease; counts as a failure of the task.',
    params: ofTask,
    body: Seen,
    answers: { 200: ok(requeued), ...REFUSALS },
    handle: async ({ params, body, commands }) =>
      replyTo(await commands.leases.release(camelKeys({ ...params, ...body }))),
  }),
  route({
    ...command,
    path: '/ports/leases/{task_id}/lost',
    summary: 'Close a run whose process is gone without a word.',
    params: ofTask,
    body: Seen,
    answers: { 200: ok(requeued), ...REFUSALS },
    handle: async ({ params, body, commands }) =>
      replyTo(await commands.leases.lost(camelKeys({ ...params, ...body }))),
  }),
  route({
    ...command,
    path: '/ports/leases/{task_id}/requeue',
    summary: 'Requeue a task that runs under no lease.',
    params: ofTask,
    answers: { 200: ok(requeued), ...REFUSALS },
    handle: async ({ params: { task_id }, commands }) =>
      replyTo(await commands.leases.requeueOrphan(task_id)),
  }),
  route({
    ...read,
    path: '/ports/records/{id}',
    summary: 'Read a record.',
    params: z.strictObject({ id: text }),
    answers: { 200: ok(z.object({ text: text.nullable() })) },
    handle: async ({ params, ledger }) => ({ value: { text: await ledger.records.get(params.id) } }),
  }),
  route({
    ...write,
    method: 'put',
    path: '/ports/records/{id}',
    summary: 'Keep a record.',
    params: z.strictObject({ id: text }),
    body: z.strictObject({ text }),
    answers: { 200: ok(z.object({ saved: z.literal(true) })) },
    handle: async ({ params, body, ledger }) => {
      await ledger.records.put(params.id, body.text);
      return { value: { saved: true } };
    },
  }),
  route({
    ...read,
    path: '/store',
    tag: 'look',
    summary: 'Say what is served.',
    answers: {
      200: ok(
        z.object({
          kind: text,
          schema_version: count,
          manages_tasks: z.boolean(),
          has_replicas: z.boolean(),
          now_ms: z.number(),
        }),
      ),
    },
    handle: async ({ ledger }) => ({
      value: {
        kind: ledger.kind,
        schema_version: ledger.schemaVersion,
        manages_tasks: ledger.managesTasks,
        has_replicas: ledger.replicas !== null,
        now_ms: ledger.clock.now(),
      },
    }),
  }),
];

/** Not every store reads many rows at once. */
async function loadRows(
  rows: Ledger['rows'],
  taskIds: readonly string[],
): Promise<ReadonlyMap<string, LoadedRow>> {
  if (rows.loadMany !== undefined) return rows.loadMany(taskIds);
  const loaded = new Map<string, LoadedRow>();
  for (const taskId of taskIds) {
    const row = await rows.load(taskId).catch(unlessUnreadable);
    if (row !== null) loaded.set(taskId, row);
  }
  return loaded;
}

/** A row that can't be read is left to `load`, which tells why. */
function unlessUnreadable(error: unknown): null {
  if (error instanceof InvalidRowError) return null;
  throw error;
}

function toLoaded(taskId: string, { row, version }: LoadedRow): object {
  return { task_id: taskId, text: printRawObject(row.raw), version };
}

function toUpdated(result: RowUpdateResult): object {
  if (result.outcome !== 'failed') return result;
  const { code, message, hint, facts } = toErrorReport(result.error);
  return { outcome: 'failed', error: { ...facts, code, message, hint } };
}

async function* listed(rows: Ledger['rows'], status: string | undefined): AsyncGenerator<string> {
  const problems: RowProblem[] = [];
  const tell = () => problems.splice(0).map((problem) => `${JSON.stringify({ problem })}\n`);
  const all = rows.list({
    ...(status === undefined ? {} : { status }),
    onProblem: (problem) => problems.push(problem),
  });
  for await (const item of all) {
    yield* tell();
    yield `${JSON.stringify(toLoaded(item.row.task_id, item))}\n`;
  }
  yield* tell();
}
