import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import type { Claimed } from '@custody/ledger';
import { openLedger, SETTINGS_DOCUMENT } from '@custody/ledger';
import type { Comparison } from './round.ts';
import { timed } from './round.ts';
import { freshFile } from './workload.ts';

const HOLDER = fileURLToPath(new URL('./takeover-holder.js', import.meta.url));

const LEASE_MS = 10_000;

/** A young run is left alone for so long, two minutes where nobody says otherwise. Whoever has short leases has a short grace. */
const GRACE_MS = 1_000;

/** From the death of a holder to the claim of the one who waits for its task. */
export function takeover(directory: string): Comparison {
  return {
    name: 'takeover from a dead holder, 10 s lease',
    units: null,
    unit: 'ms',
    atLeast: 1,
    durability: 'WAL, synchronous=FULL',
    note: 'the bound is the budget itself; the holder is a process that is killed, known by its lease alone; its late result is refused; the grace of young runs is 1 s here',
    ours: { name: 'custody', run: () => takeOver(`sqlite:${freshFile(directory, 'takeover')}`) },
    bound: { name: '15 s', run: async () => 15_000 },
  };
}

async function takeOver(store: string): Promise<number> {
  await using ledger = await openLedger(store);
  await ledger.state.save(SETTINGS_DOCUMENT, { crash_grace_ms: GRACE_MS });
  await ledger.tasks.create({ taskId: 'task', title: 'a task' });
  const dead = await killedHolder(store);
  const elapsed = await timed(() => ledger.waitForWork({ holder: 'heir' }));
  const { task_id: taskId, run_id: runId, fence } = dead;
  const late = await ledger.runs.complete({ taskId, runId, fence, result: 'too late' });
  if (late.outcome === 'completed') throw new Error('the late result of a dead holder was taken');
  return elapsed;
}

async function killedHolder(store: string): Promise<Claimed> {
  const child = spawn(process.execPath, [HOLDER, store, 'task', String(LEASE_MS)], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const [line] = (await once(createInterface(child.stdout), 'line')) as [string];
  child.kill('SIGKILL');
  await once(child, 'exit');
  return JSON.parse(line) as Claimed;
}
