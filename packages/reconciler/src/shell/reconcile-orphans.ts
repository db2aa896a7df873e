import type { InvocationRecord, RunRecord } from '@custody/ledger';
import { isPending } from '@custody/ledger';
import type { OwnerVerdict } from '../core/owner-verdict.ts';
import type { ReconcileOutcome } from '../core/reconcile-outcome.ts';
import { tasksToRefresh } from '../core/reconcile-outcome.ts';
import type { LiveTaskIds } from '../ports/live-tasks.ts';
import { readLiveTasks } from '../ports/live-tasks.ts';
import type { RunGateway, RunGatewayFactory } from '../ports/run-gateway.ts';
import { guardedGateway } from './guarded-gateway.ts';
import type { HealContext } from './heal-rows.ts';
import { messageOf } from './heal-rows.ts';
import type { OrphanPass, SettlePorts } from './orphan-context.ts';
import { openOrphanPass } from './orphan-context.ts';
import { reconcileRun, recoverInvocation } from './reconcile-run.ts';

/** How runs are reconciled with what their executor says. */
export interface GatewayOptions extends SettlePorts {
  readonly gateway: RunGatewayFactory;
  /** Aborted: no further item is begun; those under way end. */
  readonly signal?: AbortSignal | undefined;
}

/** How the orphan sweep is run. */
export interface OrphanOptions extends GatewayOptions {
  /** The tasks whose owners are alive. Unknown (absent, null) stops the sweep. */
  readonly live: LiveTaskIds | undefined;
  /** Tasks that somebody will recover: spared, too. Absent = none; null = unknown, which stops the sweep. */
  readonly recoverable?: LiveTaskIds | undefined;
}

/** Why a pass looked at nothing. */
export type Idleness = 'log_unreadable' | 'liveness_unknown' | 'nothing_selected' | 'gateway_unavailable';

/** What a pass over runs and invocations did. */
export interface OrphanReport {
  readonly outcomes: readonly ReconcileOutcome[];
  /** Tasks whose rows are to be refreshed now; all others are found by the cursor pass. */
  readonly refresh: readonly string[];
  /** Null if something was looked at. */
  readonly idle: Idleness | null;
  /** Items that were selected and not begun: the log took nothing any more, or the signal was aborted. */
  readonly remaining: number;
  /** Why there is no gateway, or why the pass stopped; null when it went through. */
  readonly error: string | null;
}

/** One thing to reconcile. */
type OrphanItem =
  | { readonly kind: 'run'; readonly run: RunRecord }
  | { readonly kind: 'invocation'; readonly invocation: InvocationRecord };

/** Items that are asked for at once, so that an executor which lets every question time out can't stretch a sweep to hours. */
const AT_ONCE = 8;

/** Settles or closes, through the gateway, every open run and pending invocation whose owner is gone (docs/contracts/custody.md, 8). */
export async function reconcileOrphans(context: HealContext, options: OrphanOptions): Promise<OrphanReport> {
  const selected = await selectOrphans(context, options);
  return Array.isArray(selected) ? reconcileItems(context, selected, options) : idle(selected as Idleness);
}

/** What {@link reconcileOrphans} would ask for, without asking. */
export async function listOrphans(
  context: HealContext,
  options: Pick<OrphanOptions, 'live' | 'recoverable'>,
): Promise<
  readonly { readonly run_id?: string; readonly invocation_id?: string; readonly task_id: string }[]
> {
  const selected = await selectOrphans(context, options);
  return Array.isArray(selected) ? (selected as readonly OrphanItem[]).map(nameOf) : [];
}

/**
 * Reconciles the runs and invocations of one task, whoever is alive (docs/contracts/custody.md, 8.1). `verdict` is the
 * deliberate end that a caller is about to write to the task's row, if it is one.
 */
export async function reconcileTaskRuns(
  context: HealContext,
  taskId: string,
  options: GatewayOptions & { readonly verdict?: OwnerVerdict | undefined },
): Promise<OrphanReport> {
  if (taskId === '') return idle('nothing_selected');
  if (!(await context.ledger.custody.isReadable())) return idle('log_unreadable');
  const custody = (await context.ledger.custody.tasks([taskId])).get(taskId);
  const runs = (custody?.runs ?? []).filter((run) => !run.settled);
  return reconcileItems(context, toItems(runs, (custody?.invocations ?? []).filter(isPending)), options);
}

/**
 * Candidates first, then who is alive: the other way round, a task that starts in between would look ownerless.
 */
async function selectOrphans(
  { ledger }: HealContext,
  { live, recoverable }: Pick<OrphanOptions, 'live' | 'recoverable'>,
): Promise<readonly OrphanItem[] | Idleness> {
  // A liveness that nobody can tell needs no candidates; one that is asked for is asked after them.
  if (live === undefined || live === null) return 'liveness_unknown';
  if (!(await ledger.custody.isReadable())) return 'log_unreadable';
  const candidates = toItems(await ledger.custody.openRuns(), await ledger.custody.pendingInvocations());
  const alive = await readLiveTasks(live);
  const spared = recoverable === undefined ? new Set<string>() : await readLiveTasks(recoverable);
  if (alive === null || spared === null) return 'liveness_unknown';
  return candidates.filter((item) => {
    const { task_id: owner } = nameOf(item);
    return owner !== '' && !alive.has(owner) && !spared.has(owner);
  });
}

/** An attempt holds the task itself: its end is decided by its lease and its fence, not by asking an executor. */
function toItems(
  runs: readonly RunRecord[],
  invocations: readonly InvocationRecord[],
): readonly OrphanItem[] {
  return [
    ...runs.filter((run) => run.role === 'delegate').map((run): OrphanItem => ({ kind: 'run', run })),
    ...invocations.map((invocation): OrphanItem => ({ kind: 'invocation', invocation })),
  ];
}

function nameOf(item: OrphanItem): {
  readonly run_id?: string;
  readonly invocation_id?: string;
  readonly task_id: string;
} {
  return item.kind === 'run'
    ? { run_id: item.run.run_id, task_id: item.run.task_id }
    : { invocation_id: item.invocation.invocation_id, task_id: item.invocation.task_id };
}

async function reconcileItems(
  context: HealContext,
  items: readonly OrphanItem[],
  options: GatewayOptions & { readonly verdict?: OwnerVerdict | undefined },
): Promise<OrphanReport> {
  if (items.length === 0) return idle('nothing_selected');
  let gateway: RunGateway | null;
  try {
    gateway = await options.gateway();
  } catch (error) {
    return idle('gateway_unavailable', { remaining: items.length, error: messageOf(error) });
  }
  if (gateway === null) return idle('gateway_unavailable', { remaining: items.length, error: null });
  try {
    const pass = openOrphanPass({ ...options, ...context, gateway: guardedGateway(gateway) });
    const outcomes = await inParallel(
      items,
      (item) => reconcileItem(pass, item),
      () => pass.storeFault() !== null || options.signal?.aborted === true,
    );
    return {
      outcomes,
      refresh: tasksToRefresh(outcomes),
      idle: null,
      remaining: items.length - outcomes.length,
      error: pass.storeFault(),
    };
  } finally {
    await closeQuietly(gateway);
  }
}

/** One item that breaks never stops the others. */
async function reconcileItem(pass: OrphanPass, item: OrphanItem): Promise<ReconcileOutcome> {
  try {
    return item.kind === 'run'
      ? await reconcileRun(pass, item.run)
      : await recoverInvocation(pass, item.invocation);
  } catch (error) {
    return { ...nameOf(item), action: 'failed', error: messageOf(error) };
  }
}

/** Works on a few items at once and answers in their order; begins nothing more once `isOver`. */
async function inParallel<Item, Answer>(
  items: readonly Item[],
  work: (item: Item) => Promise<Answer>,
  isOver: () => boolean,
): Promise<readonly Answer[]> {
  const answers = new Map<number, Answer>();
  let next = 0;
  async function worker(): Promise<void> {
    while (next < items.length && !isOver()) {
      const index = next;
      next += 1;
      answers.set(index, await work(items[index] as Item));
    }
  }
  await Promise.all(Array.from({ length: Math.min(AT_ONCE, items.length) }, worker));
  return [...answers].sort(([a], [b]) => a - b).map(([, answer]) => answer);
}

/** What was learnt stands; a connection that won't close takes nothing of it away. */
async function closeQuietly(gateway: RunGateway): Promise<void> {
  try {
    await gateway.close?.();
  } catch {
    // Nothing depends on it.
  }
}

function idle(
  why: Idleness,
  facts: { readonly remaining: number; readonly error: string | null } = { remaining: 0, error: null },
): OrphanReport {
  return { outcomes: [], refresh: [], idle: why, ...facts };
}
