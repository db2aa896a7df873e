import { setTimeout as wait } from 'node:timers/promises';
import type { PassLog } from '@custody/reconciler';
import { createReconciler } from '@custody/reconciler';
import { isPlanned } from '../output/error-report.ts';
import { didSomething } from '../output/pass-log.ts';
import type { ServerLog } from './create-server.ts';
import type { ServedNode } from './served-node.ts';

/** How often a node looks whether its role has changed, in milliseconds; requests look at once. */
const LOOK_EVERY_MS = 1_000;

/** What a node that is no primary, or is none any more, is told. */
const NOT_PRIMARY: ReadonlySet<string> = new Set(['read_only', 'stale_epoch']);

/** Looks after the role of a node that nobody asks, so that what goes on inside of it begins and ends. */
export async function watchRole(node: ServedNode): Promise<void> {
  const { stopping: signal } = node;
  while (!signal.aborted) {
    // A store that can't be read now makes no node a replica; requests tell.
    await node.role().catch(() => null);
    await wait(LOOK_EVERY_MS, undefined, { signal }).catch(() => null);
  }
}

/** Runs the reconciler's loop as long as the node is primary, and again when it is promoted. */
export async function healWhilePrimary(node: ServedNode, every: number, log: ServerLog): Promise<void> {
  const { stopping } = node;
  while (!stopping.aborted) {
    try {
      await node.write((ledger, ended) =>
        createReconciler(ledger).run({
          every,
          signal: AbortSignal.any([stopping, ended]),
          log: passLogOf(log),
        }),
      );
    } catch (error) {
      if (!isPlanned(error) || !NOT_PRIMARY.has(error.code))
        log.error({ err: error }, 'the reconciler could not run');
    }
    await wait(LOOK_EVERY_MS, undefined, { signal: stopping }).catch(() => null);
  }
}

/** A pass that found nothing is no news. */
function passLogOf(log: ServerLog): PassLog {
  return {
    ...log,
    info: (facts, message) => {
      if (!('trigger' in facts) || didSomething(facts)) log.info(facts, message);
    },
  };
}
