import { expect } from 'vitest';
import type { z } from 'zod';
import type { CliBench } from './cli.ts';
import { shaped } from './cli.ts';
import { MANAGED_CLI_SCHEMAS } from './cli-managed-schemas.ts';
import { REFUSAL_SCHEMA } from './cli-schemas.ts';

type Name = keyof typeof MANAGED_CLI_SCHEMAS;

/** Runs a command on managed tasks in a process of its own; it must succeed and print its documented shape. */
export async function done<N extends Name>(
  bench: CliBench,
  name: N,
  ...args: readonly string[]
): Promise<z.output<(typeof MANAGED_CLI_SCHEMAS)[N]>> {
  const { code, value } = await bench.json([...name.split(' '), ...args]);
  expect(code, JSON.stringify({ name, value })).toBe(0);
  return shaped(MANAGED_CLI_SCHEMAS[name], value) as z.output<(typeof MANAGED_CLI_SCHEMAS)[N]>;
}

/** Runs a command whose answer is no: exit 1, with an outcome and a reason. */
export async function refused(
  bench: CliBench,
  ...args: readonly string[]
): Promise<z.output<typeof REFUSAL_SCHEMA>> {
  const { code, value } = await bench.json(args);
  expect(code, JSON.stringify({ args, value })).toBe(1);
  return shaped(REFUSAL_SCHEMA, value);
}

/** The options that name a holder's run and fence. */
export function underFence(run: { readonly run_id: string; readonly fence: number }): readonly string[] {
  return ['--run', run.run_id, '--fence', String(run.fence)];
}

/** The options that name a held task, its run and its fence. */
export function held(run: {
  readonly task_id: string;
  readonly run_id: string;
  readonly fence: number;
}): readonly string[] {
  return ['--task', run.task_id, ...underFence(run)];
}

/** Every run of a task. */
export async function runsOf(
  bench: CliBench,
  taskId: string,
): Promise<readonly z.output<(typeof MANAGED_CLI_SCHEMAS)['run list']>[]> {
  const lines = await bench.lines(['run', 'list', '--task', taskId]);
  return lines.map((line) => shaped(MANAGED_CLI_SCHEMAS['run list'], line));
}
