import { z } from 'zod';

// What `custody proxy --json` and `custody failover --json` print.

const node = z.strictObject({
  node: z.string(),
  url: z.url(),
  health: z.enum(['ready', 'answers', 'refused', 'silent']),
  role: z.enum(['primary', 'replica']).nullable(),
  failed: z.boolean(),
  fenced: z.string().nullable(),
});

const step = z.enum(['preflight', 'fence', 'promote', 'switch', 'verify']);

const report = {
  epoch: z.int().positive(),
  upstream: z.string().nullable(),
  primary: z.string().nullable(),
  fenced: z.array(z.string()),
  steps: z.array(z.strictObject({ step, done: z.boolean() })),
  old: node,
  new: node,
};

/** One schema for each command of a served ledger's failover. */
export const FAILOVER_CLI_SCHEMAS = {
  proxy: z.strictObject({ listening: z.url(), state: z.string() }),
  'failover status': z.strictObject(report),
  'failover promote': z.strictObject({
    ...report,
    plan: z.array(z.strictObject({ step, action: z.string() })).optional(),
  }),
} as const satisfies Record<string, z.ZodType>;
