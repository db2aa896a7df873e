import { z } from 'zod';

const count = z.number().int().nonnegative();

/** What `simulate --json` prints. */
export const SIMULATE_SCHEMAS = {
  simulate: z.strictObject({
    seed: count,
    steps: count,
    on: z.enum(['memory', 'sqlite', 'jsonl']),
    ok: z.boolean(),
    trace_hash: z.string().regex(/^[0-9a-f]{64}$/),
    faults: z.array(z.strictObject({ fault: z.string(), count })),
    checks: z.array(z.strictObject({ promise: z.string(), count })),
    failure: z
      .strictObject({
        promise: z.string(),
        step: count,
        message: z.string(),
        history: z.array(z.string()),
      })
      .nullable(),
    repeat: z.string(),
  }),
};
