import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { countFigures } from './figures.ts';
import type { Pair } from './served-pair.ts';

const WORKER = fileURLToPath(new URL('./failover-worker.mjs', import.meta.url));

/** Where a failover can be stopped: everything before the point is durable, nothing after it has begun. */
export const FAILOVER_POINTS = [
  'marked',
  'raised',
  'fenced',
  'promoted',
  'confirmed',
  'switched',
  'verified',
] as const;

/** One of these points. */
export type FailoverPoint = (typeof FAILOVER_POINTS)[number];

/** Runs a failover in a process of its own, kills it at a point, and returns when it is gone. */
export async function killFailoverAt(
  { store, folder, primary, replica, proxy }: Pair,
  point: FailoverPoint,
  { forceFence = false }: { readonly forceFence?: boolean } = {},
): Promise<void> {
  const ends = { old: primary.url, new: replica.url, public: proxy.url };
  const asked = JSON.stringify({ store, folder, ...ends, stop: point, forceFence });
  const child = spawn(process.execPath, [WORKER, asked], { stdio: ['ignore', 'pipe', 'inherit'] });
  const gone = once(child, 'close');
  const said: string[] = [];
  createInterface({ input: child.stdout }).on('line', (line) => {
    said.push(line);
    if (line === point) child.kill('SIGKILL');
  });
  await gone;
  if (said.at(-1) !== point) throw new Error(`the failover did not stop at ${point}: ${said.join(', ')}`);
  countFigures('kills', [['failovers', 1]]);
}
