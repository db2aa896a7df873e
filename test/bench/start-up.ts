import { spawnSync } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import type { Comparison } from './round.ts';
import { timed } from './round.ts';

const BIN = fileURLToPath(new URL('../../../packages/cli/bin/custody.js', import.meta.url));

function times(count: number, args: readonly string[]): Promise<number> {
  return timed(() => {
    for (let run = 0; run < count; run += 1) spawnSync(process.execPath, args);
  });
}

/** What the command costs before it does anything, against an empty program. */
export function startUp(count: number): Comparison {
  return {
    name: 'custody --version',
    units: count,
    unit: 'starts',
    atLeast: 0.5,
    note: 'whole processes, one after the other',
    ours: { name: 'custody --version', run: () => times(count, [BIN, '--version']) },
    bound: { name: 'node -e 0', run: () => times(count, ['-e', '0']) },
  };
}
