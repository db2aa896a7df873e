import type { Clock, LeaderStore } from '@custody/ledger';
import type { Schedule } from '../core/schedule.ts';
import type { PassLog } from '../ports/pass-log.ts';
import type { Wait } from '../ports/timer.ts';

/** The name of the loop's lease. */
const LEASE = 'reconciler';

/** How long a leader is trusted without a sign of life. A dead one is replaced within one lease and one tick. */
const LEASE_TTL_MS = 10_000;

/** Renewed three times in a lease, so that two lost renewals do not cost it. */
const RENEW_MS = LEASE_TTL_MS / 3;

/** The passes of the loop. */
interface LoopPasses {
  backfill(): Promise<object>;
  sweep(): Promise<object>;
}

/** What the loop runs on. */
export interface LoopSettings {
  readonly passes: LoopPasses;
  readonly schedule: Schedule;
  readonly leaders: LeaderStore;
  readonly holder: string;
  readonly clock: Clock;
  readonly wait: Wait;
  readonly log: PassLog;
  readonly signal: AbortSignal;
  /** Stop after the first backfill and sweep. */
  readonly once: boolean;
}

/**
 * The periodic loop: leadership first, one backfill when it is won, then sweeps by the schedule, one pass at a
 * time. Whoever does not lead waits and asks again; a pass that fails is told and tried again at the next tick.
 * Two leaders could do no harm (every write is guarded); the lease only spares the work.
 */
export async function runLoop(settings: LoopSettings): Promise<void> {
  while (!settings.signal.aborted) {
    const answer = await settings.leaders.tryLead(LEASE, settings.holder, LEASE_TTL_MS);
    if (answer.outcome === 'leading') {
      await lead(settings);
      if (settings.once) return;
    } else if (settings.once) {
      settings.log.info(
        { holder: answer.holder, expires_at: answer.expires_at },
        'another process leads; nothing to do',
      );
      return;
    } else {
      await settings.wait(RENEW_MS, settings.signal);
    }
  }
}

/** Runs passes while leading; comes back when the lease is lost or the loop stops. */
async function lead(settings: LoopSettings): Promise<void> {
  settings.log.info({ holder: settings.holder }, 'leading');
  const term = new AbortController();
  const stop = () => term.abort();
  settings.signal.addEventListener('abort', stop, { once: true });
  const renewal = renew(settings, term);
  try {
    await runPasses(settings, term.signal);
  } finally {
    settings.signal.removeEventListener('abort', stop);
    term.abort();
    await renewal;
    await settings.leaders.resign(LEASE, settings.holder);
  }
}

async function renew(settings: LoopSettings, term: AbortController): Promise<void> {
  for (;;) {
    await settings.wait(RENEW_MS, term.signal);
    if (term.signal.aborted) return;
    try {
      const answer = await settings.leaders.tryLead(LEASE, settings.holder, LEASE_TTL_MS);
      if (answer.outcome === 'leading') continue;
      settings.log.warn({ holder: answer.holder }, 'leadership lost');
    } catch (error) {
      settings.log.error({ err: error }, 'leadership could not be renewed');
    }
    // An election that fails gives leadership up: whoever can't write can't lead.
    term.abort();
    return;
  }
}

async function runPasses(settings: LoopSettings, term: AbortSignal): Promise<void> {
  let isBackfilled = false;
  while (!term.aborted) {
    const began = settings.clock.now();
    isBackfilled ||= await runPass(settings, term, 'backfill');
    if (isBackfilled) await runPass(settings, term, 'sweep');
    if (settings.once) return;
    await settings.wait(settings.schedule.delayAfter(began, settings.clock.now()), term);
  }
}

/** True if the pass ran through; none begins once the term is over. In a single run a failure is the caller's. */
async function runPass(settings: LoopSettings, term: AbortSignal, name: keyof LoopPasses): Promise<boolean> {
  if (term.aborted) return false;
  try {
    settings.log.info(await settings.passes[name](), name);
    return true;
  } catch (error) {
    if (settings.once) throw error;
    settings.log.error({ err: error }, `${name} failed; it is tried again at the next tick`);
    return false;
  }
}
