import type { JsonObject } from '@custody/ledger';
import { compareCodePoints, isJsonObject } from '@custody/ledger';
import type { Deferred } from '../core/deferred.ts';
import { boundDeferred, isSameDeferred, parseDeferred } from '../core/deferred.ts';
import type { LiveTaskIds } from '../ports/live-tasks.ts';
import { readLiveTasks } from '../ports/live-tasks.ts';
import type { HealContext, HealFailure } from './heal-rows.ts';
import { healTasks, messageOf, pagesOf } from './heal-rows.ts';
import type { PassPlan } from './planned-pass.ts';
import { applyPlan, planPass } from './planned-pass.ts';

/** The name of the cursor's document in the store. */
export const CURSOR_DOCUMENT = 'refresh_cursor';

const TRIGGER = 'sweep_refresh';

/** What a cursor pass did. */
export interface CursorPass {
  readonly scanned: number;
  readonly refreshed: readonly string[];
  readonly deferred: readonly string[];
  /** Deferred tasks that were given up because too many wait; a backfill finds them. */
  readonly dropped: number;
  readonly tried: readonly string[];
  readonly failed: readonly HealFailure[];
  readonly evidenceMissing: readonly string[];
}

/** Where a pass stands before it heals: what the log named, and who of them is alive. */
export interface CursorScan {
  readonly position: JsonObject | null;
  readonly moved: boolean;
  readonly scanned: number;
  readonly before: Deferred;
  /** Tasks to heal now. */
  readonly due: readonly string[];
  /** Tasks that have to wait, since when. */
  readonly waiting: Deferred;
}

const NOTHING: CursorPass = {
  scanned: 0,
  refreshed: [],
  deferred: [],
  dropped: 0,
  tried: [],
  failed: [],
  evidenceMissing: [],
};

/**
 * Reads the log from the cursor and decides who is due (docs/contracts/custody.md, 6). Live owners are read after
 * the candidates, so that a task which started meanwhile is not taken for ownerless. null = the log can't be read.
 */
export async function scanSettled(
  context: HealContext,
  options: { readonly live: LiveTaskIds | undefined; readonly skip: ReadonlySet<string> },
): Promise<CursorScan | null> {
  const stored = await context.ledger.state.load(CURSOR_DOCUMENT);
  const position = isJsonObject(stored?.['position']) ? stored['position'] : null;
  const scan = await context.ledger.scan.settledAfter(position);
  if (scan.outcome === 'unreadable') return null;
  const before = parseDeferred(stored);
  const live = await readLiveTasks(options.live);
  const now = new Date(context.ledger.clock.now()).toISOString();
  const due: string[] = [];
  const waiting = new Map<string, string>();
  for (const id of [...new Set([...scan.task_ids, ...before.keys()])].sort(compareCodePoints)) {
    if (live?.has(id) === true || options.skip.has(id)) waiting.set(id, before.get(id) ?? now);
    else due.push(id);
  }
  return { position: scan.next, moved: scan.moved, scanned: scan.scanned, before, due, waiting };
}

/** One cursor pass: heals what settled since the last one, keeps what has to wait, and always moves on. */
export async function cursorPass(context: HealContext, scan: CursorScan | null): Promise<CursorPass> {
  if (scan === null) return NOTHING;
  const outcome = {
    refreshed: [] as string[],
    failed: [] as HealFailure[],
    evidenceMissing: [] as string[],
    notTerminal: [] as string[],
  };
  for (const ids of pagesOf(scan.due)) {
    const page = await healOrFail(context, ids);
    outcome.refreshed.push(...page.refreshed);
    outcome.failed.push(...page.failed);
    outcome.evidenceMissing.push(...page.evidenceMissing);
    outcome.notTerminal.push(...page.notTerminal);
  }
  return finish(context, scan, outcome);
}

/** What a cursor pass would heal, without writing anything. */
export function planCursorPass(context: HealContext, scan: CursorScan): Promise<PassPlan> {
  return planPass(context, scan.due, TRIGGER);
}

/** Applies a planned cursor pass and moves the cursor. */
export async function applyCursorPlan(
  context: HealContext,
  scan: CursorScan,
  plan: PassPlan,
): Promise<CursorPass> {
  const outcome = await applyPlan(context, plan);
  return finish(context, scan, { ...outcome, notTerminal: plan.notTerminal });
}

async function healOrFail(context: HealContext, ids: readonly string[]) {
  try {
    return await healTasks(context, ids, TRIGGER);
  } catch (error) {
    // The pass moves on whatever happens to its tasks: they wait and are tried again.
    return {
      refreshed: [],
      evidenceMissing: [],
      notTerminal: [],
      failed: ids.map((task_id) => ({ task_id, error: messageOf(error) })),
    };
  }
}

async function finish(
  context: HealContext,
  scan: CursorScan,
  outcome: {
    refreshed: readonly string[];
    failed: readonly HealFailure[];
    evidenceMissing: readonly string[];
    notTerminal: readonly string[];
  },
): Promise<CursorPass> {
  const now = new Date(context.ledger.clock.now()).toISOString();
  const waiting = new Map(scan.waiting);
  for (const id of [...outcome.notTerminal, ...outcome.failed.map((item) => item.task_id)])
    waiting.set(id, scan.before.get(id) ?? now);
  const { kept, dropped } = boundDeferred(waiting);
  if (scan.moved || !isSameDeferred(scan.before, kept)) await saveCursor(context, scan.position, kept);
  return {
    scanned: scan.scanned,
    refreshed: outcome.refreshed,
    deferred: [...kept.keys()].sort(compareCodePoints),
    dropped,
    tried: scan.due,
    failed: outcome.failed,
    evidenceMissing: outcome.evidenceMissing,
  };
}

async function saveCursor(
  context: HealContext,
  position: JsonObject | null,
  deferred: Deferred,
): Promise<void> {
  try {
    await context.ledger.state.save(CURSOR_DOCUMENT, { position, deferred: Object.fromEntries(deferred) });
  } catch {
    // Not saved, so the next pass does the same window again; a heal done twice writes nothing.
  }
}
