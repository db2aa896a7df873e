import type { PassOptions } from '@custody/reconciler';
import { createReconciler } from '@custody/reconciler';
import { z } from 'zod';
import type { Answer, Reply, Route } from '../route.ts';
import { route } from '../route.ts';
import { ok, RefusalBody } from '../schemas/answers.ts';
import { count, hash, id, jsonObject, text } from '../schemas/values.ts';

const pass = { dry_run: z.boolean().optional(), plan: hash.optional() };

const planned = { plan: z.array(jsonObject).optional(), plan_hash: hash.optional() };
const failed = z.array(z.object({ task_id: id, error: text }));

const CHANGED: Readonly<Record<number, Answer>> = {
  409: { description: 'The plan is not the one any more; nothing was written.', schema: RefusalBody },
};

/** Passes that heal rows. Doing one again is harmless: it finds nothing left to do. */
export const JOB_ROUTES: readonly Route[] = [
  route({
    method: 'post',
    tag: 'jobs',
    use: 'write',
    path: '/jobs/backfill',
    summary: 'Heal every terminal row that stopped being true.',
    body: z.strictObject(pass),
    answers: {
      200: ok(
        z.object({
          trigger: z.literal('boot_backfill'),
          examined: count,
          refreshed: z.array(id),
          failed,
          evidence_missing: z.array(id),
          ...planned,
        }),
      ),
      ...CHANGED,
    },
    handle: async ({ body, ledger }) => toReply(await createReconciler(ledger).backfill(toPass(body))),
  }),
  route({
    method: 'post',
    tag: 'jobs',
    use: 'write',
    path: '/jobs/sweep',
    summary: 'Release the leases that nobody keeps, and heal rows whose runs settled. Asks no executor.',
    body: z.strictObject({ ...pass, live: z.array(id).nullable().optional() }),
    answers: {
      200: ok(
        z.object({
          trigger: z.literal('sweep_refresh'),
          events_scanned: count,
          refreshed: z.array(id),
          deferred: z.array(id),
          orphans: z.array(jsonObject),
          requeued: z.array(id),
          gave_up: z.array(id).optional(),
          extended: z.array(id).optional(),
          failed,
          evidence_missing: z.array(id),
          ...planned,
        }),
      ),
      ...CHANGED,
    },
    handle: async ({ body: { live, ...body }, ledger }) =>
      toReply(await createReconciler(ledger).sweep({ ...toPass(body), live: live ?? null })),
  }),
  route({
    method: 'post',
    tag: 'jobs',
    use: 'write',
    path: '/jobs/clear',
    summary: 'Heal the row of one task now.',
    body: z.strictObject({ ...pass, task_id: id }),
    answers: {
      200: ok(
        z.object({
          trigger: z.literal('kill_path_clear'),
          task_id: id,
          refreshed: z.boolean(),
          failed,
          ...planned,
        }),
      ),
      ...CHANGED,
    },
    handle: async ({ body: { task_id, ...body }, ledger }) =>
      toReply(await createReconciler(ledger).clear(task_id, toPass(body))),
  }),
];

function toPass(body: {
  readonly dry_run?: boolean | undefined;
  readonly plan?: string | undefined;
}): PassOptions {
  return { dryRun: body.dry_run ?? false, ...(body.plan === undefined ? {} : { plan: body.plan }) };
}

function toReply(report: object): Reply {
  return { value: report, status: 'outcome' in report ? 409 : 200 };
}
