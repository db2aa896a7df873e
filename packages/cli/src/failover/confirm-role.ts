import { setTimeout as sleep } from 'node:timers/promises';
import { lookAtNode } from './look-at-node.ts';
import type { FailoverRefusal } from './preflight.ts';
import { refuse } from './preflight.ts';
import { isServing } from './step-states.ts';

/** How long a node may take to become primary, in milliseconds. It opens its store anew, and no more. */
const PROMOTION_TIMEOUT_MS = 15_000;

/** Between two questions, in milliseconds. */
const PAUSE_MS = 50;

/** Waits until a node answers as primary; a refusal if it does not. */
export async function confirmRole(url: URL, name: string): Promise<FailoverRefusal | null> {
  const deadline = performance.now() + PROMOTION_TIMEOUT_MS;
  for (;;) {
    const look = await lookAtNode(url);
    if (isServing(look, name)) return null;
    if (performance.now() >= deadline) {
      return refuse('not_promoted', {
        message: `${name} at ${look.url} does not answer as primary: ${look.fault ?? `its role is ${look.role}`}`,
        hint: 'Nobody writes now. See its log; was it started with this state folder and this store? Then run this again.',
        facts: { node: name, url: look.url, health: look.health, role: look.role },
      });
    }
    await sleep(PAUSE_MS);
  }
}
