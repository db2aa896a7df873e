import type { LiveTaskIds, PassOptions, Reconciler } from '@custody/reconciler';
import type { CommandContext } from './command-context.ts';
import { usageError } from './errors.ts';
import { toGatewayFactory } from './open-gateway.ts';
import { withLedger } from './open-store.ts';

/** How a healing pass is asked for. */
export interface PassFlags {
  /** Print the plan and write nothing. */
  readonly dryRun?: boolean | undefined;
  /** Apply exactly the plan with this hash. */
  readonly plan?: string | undefined;
}

/** How runs are asked for. */
export interface GatewayFlag {
  /** `none`, `http:URLTEMPLATE` or `process`. */
  readonly gateway?: string | undefined;
}

/** Where results may wait that the ledger does not have yet. */
export interface JournalFlag {
  /** Folders; every sweep recovers them first. */
  readonly journal?: readonly string[] | undefined;
}

/** What a reconciler needs beyond the ledger. */
export interface ReconcilerSettings extends PassFlags, GatewayFlag, JournalFlag {
  readonly liveTaskIds?: LiveTaskIds;
}

/** Opens the store and a reconciler over it; a dry run opens it for reading only, so that it can't write. */
export async function withReconciler<T>(
  context: CommandContext,
  settings: ReconcilerSettings,
  work: (reconciler: Reconciler, pass: PassOptions) => Promise<T>,
): Promise<T> {
  const { dryRun, plan, gateway, journal = [], liveTaskIds } = settings;
  if (dryRun === true && plan !== undefined) {
    throw usageError(
      '--dry-run and --plan exclude each other',
      'Make a plan with --dry-run, then apply it with --plan HEX.',
      { option: '--plan' },
    );
  }
  const factory = await toGatewayFactory(gateway);
  return withLedger(context, dryRun === true ? 'look' : 'work', async (ledger) => {
    const { createReconciler } = await import('@custody/reconciler');
    const { openJournals } = await import('@custody/ledger');
    const reconciler = createReconciler(ledger, {
      ...(liveTaskIds === undefined ? {} : { liveTaskIds }),
      ...(factory === undefined ? {} : { gateway: factory }),
      journals: journal.map((directory) => openJournals(directory)),
    });
    return work(reconciler, { dryRun: dryRun ?? false, ...(plan === undefined ? {} : { plan }) });
  });
}
