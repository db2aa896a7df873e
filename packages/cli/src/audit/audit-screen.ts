import type { Ledger, PastCut } from '@custody/ledger';
import type { CommandContext } from '../command-context.ts';
import { usageError } from '../errors.ts';
import { auditText } from '../output/audit-text.ts';
import type { AuditScope, AuditView } from './audit-view.ts';
import { pastView, presentView } from './audit-view.ts';

/** Options of `audit`. */
export interface AuditOptions {
  /** Tasks to audit; those that owe something or are held when empty. */
  readonly taskIds: readonly string[];
  /** Every task that has a row or owes something. */
  readonly all?: boolean | undefined;
  /** Exit 1 when a task owes something or a row is not true. */
  readonly check?: boolean | undefined;
  /** The ledger as it stood there, from its log alone. */
  readonly asOf?: PastCut | undefined;
  /** Again and again, this far apart in milliseconds. */
  readonly watch?: number | undefined;
  /** Every ledger of the database, one after the other. */
  readonly allLedgers?: boolean | undefined;
  /** Items that people are shown at most. */
  readonly limit?: number | undefined;
}

/** Lines of a screen that are not items, and lines of one item. */
const OTHER_LINES = 8;
const ITEM_LINES = 2;
/** Items shown where nobody tells how high a screen is, and at least. */
const USUAL_ITEMS = 20;
const LEAST_ITEMS = 3;

/** The view as one screen of text. */
export function auditScreen(view: AuditView, options: AuditOptions, context: CommandContext): string {
  const { rows } = context.out;
  const fitting = rows === null ? USUAL_ITEMS : Math.floor((rows - OTHER_LINES) / ITEM_LINES);
  const limit = options.limit ?? Math.max(LEAST_ITEMS, fitting);
  return auditText(view, { limit, listsAll: options.all === true || options.taskIds.length > 0 }, context);
}

/** What is owed now, or was at a cut. */
export async function viewOf(
  ledger: Ledger,
  { program, now }: Pick<CommandContext, 'program' | 'now'>,
  { taskIds, all }: Pick<AuditOptions, 'taskIds' | 'all'>,
  cut?: PastCut,
): Promise<AuditView> {
  const scope: AuditScope = { taskIds, all: all ?? false };
  if (cut === undefined) return presentView(ledger, scope, { program, nowMs: now() });
  const { openPast } = await import('@custody/ledger');
  await refuseFuture(ledger, cut, now());
  return pastView(await openPast(ledger, cut), scope, program);
}

/** What nobody knows yet is no past: an answer about it would look like one about the ledger. */
async function refuseFuture(ledger: Ledger, cut: PastCut, nowMs: number): Promise<void> {
  const { seq: head } = await ledger.head();
  const isFuture = 'seq' in cut ? cut.seq > head : cut.atMs > nowMs;
  if (!isFuture) return;
  throw usageError(
    'seq' in cut ? `the log has no event ${cut.seq} yet` : 'the time given with --as-of has not come yet',
    `The newest event is seq ${head}; leave --as-of out to see how it stands now.`,
    { option: '--as-of', head_seq: head },
  );
}
