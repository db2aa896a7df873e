import type { CommandContext } from '../command-context.ts';
import { usageError } from '../errors.ts';
import type { ExitCode } from '../exit-code.ts';
import { EXIT } from '../exit-code.ts';
import { readLiveTaskIds } from '../input/live-tasks.ts';
import type { GatewayFlag, JournalFlag } from '../open-reconciler.ts';
import { withReconciler } from '../open-reconciler.ts';
import { passLog } from '../output/pass-log.ts';

/** Options of `reconcile`. */
export interface ReconcileOptions extends GatewayFlag, JournalFlag {
  /** Between two sweeps, in milliseconds. */
  readonly every?: number | undefined;
  /** When sweeps are due, UTC. */
  readonly cron?: string | undefined;
  /** Stop after one backfill and one sweep. */
  readonly once?: boolean | undefined;
  /** The tasks whose owners are alive, or `@FILE`, which is read again before each sweep. */
  readonly live?: string | undefined;
}

/** The loop: one backfill, then sweeps until SIGINT or SIGTERM. Prints what each pass did. */
export async function reconcile(context: CommandContext, options: ReconcileOptions): Promise<ExitCode> {
  const { every, cron, once, live, gateway, journal } = options;
  if (every !== undefined && cron !== undefined) {
    throw usageError('--every and --cron exclude each other', 'Give one of them.', { option: '--cron' });
  }
  if (every === undefined && cron === undefined && once !== true) {
    throw usageError(
      'reconcile needs --every, --cron or --once',
      'For example: custody reconcile --every 30s',
      { option: '--every' },
    );
  }
  const signal = context.interruption();
  const log = await passLog(context);
  const liveTaskIds = live === undefined ? null : () => readLiveTaskIds(live);
  return withReconciler(context, { gateway, journal, liveTaskIds }, async (reconciler) => {
    await reconciler.run({
      ...(every === undefined ? {} : { every }),
      ...(cron === undefined ? {} : { cron }),
      once: once ?? false,
      signal,
      log,
    });
    return EXIT.done;
  });
}
