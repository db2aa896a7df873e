import { BusyError, StoreError } from '@custody/ledger';
import type { Figures } from './figures.ts';
import { seededRandom } from './random.ts';
import type { Strike } from './step.ts';

/** Thrown inside of a store's transaction by a process that ends there, so that the transaction is rolled back. */
class EndedInside extends Error {
  override readonly name = 'EndedInside';
}

/** A promise that nobody ever keeps: what a process that has ended was waiting for. */
function never<T>(): Promise<T> {
  return new Promise<T>(() => undefined);
}

/** Most turns that other work gets between two calls: some steps rush through, others are slow. */
const MOST_TURNS = [0, 1, 3, 10, 40] as const;
/** Most looks at clock and ids that a transaction survives when its process is to end inside of it. */
const MOST_LOOKS = 3;

/**
 * One process from its start to its end. Every call that leaves it goes through here: that is where it may be
 * interrupted, meet a fault, or end. After its end nothing of it goes on.
 */
export class Life {
  readonly died: Promise<void>;
  #end: () => void = () => undefined;
  #state: 'alive' | 'ended' = 'alive';
  #strike: Strike | null = null;
  #calls = 0;
  #insideIn = 0;
  #mostTurns = 0;
  #inside: 'ends' | 'goes on' = 'goes on';
  readonly #underWay = new Set<Promise<unknown>>();
  readonly #figures: Figures;
  readonly #rollsBack: boolean;
  #turns = seededRandom(0);

  constructor(figures: Figures, rollsBack: boolean) {
    this.#figures = figures;
    this.#rollsBack = rollsBack;
    this.died = new Promise((resolve) => {
      this.#end = resolve;
    });
  }

  hasEnded(): boolean {
    return this.#state === 'ended';
  }

  /** True while a fault waits for one of its calls. */
  get isArmed(): boolean {
    return this.#strike !== null;
  }

  /** Ends the process where it stands. */
  end(): void {
    this.#state = 'ended';
    this.#end();
  }

  /** Waits until nothing of what the process had begun is under way: its last calls have come to an end, or to nothing. */
  async stillness(): Promise<void> {
    while (this.#underWay.size > 0) await Promise.allSettled([...this.#underWay]);
  }

  /** Lets a fault wait for a call of what is done next. `number` decides in which order calls take turns. */
  arm(strike: Strike | undefined, number: number): void {
    this.#insideIn = number % MOST_LOOKS;
    this.#mostTurns = MOST_TURNS[number % MOST_TURNS.length] ?? 0;
    this.#strike = strike ?? null;
    this.#calls = 0;
    this.#turns = seededRandom(number);
  }

  disarm(): void {
    this.#strike = null;
  }

  /** One call to the outside. `write` = it may meet a lock or a full disk. */
  async call<T>(kind: 'read' | 'write', work: () => Promise<T>): Promise<T> {
    if (this.hasEnded()) return never();
    await this.#waitTurns();
    if (this.hasEnded()) return never();
    const strike = this.#next(kind);
    if (strike === 'crash_before') return this.#die();
    if (strike === 'lock_timeout') throw this.#fault(strike, lockTimeout());
    if (strike === 'disk_full') throw this.#fault(strike, diskFull());
    this.#inside = strike === 'crash_inside' ? 'ends' : 'goes on';
    const outcome = await this.#outcomeOf(work());
    // Nothing was asked inside of this call: then it ends right after it.
    if (strike === 'crash_after' || this.#inside === 'ends') return this.#die();
    // A process that has ended hears of nothing, not even of errors.
    if (this.hasEnded()) return never();
    if ('error' in outcome) throw outcome.error;
    return outcome.answer;
  }

  /** Called by a store inside of its transactions. */
  inside(): void {
    if (this.#inside === 'ends') {
      this.#insideIn -= 1;
      if (this.#insideIn < 0) this.end();
    }
    if (this.hasEnded()) throw new EndedInside();
  }

  async #outcomeOf<T>(working: Promise<T>): Promise<{ readonly answer: T } | { readonly error: unknown }> {
    this.#underWay.add(working);
    try {
      return { answer: await working };
    } catch (error) {
      return { error };
    } finally {
      this.#underWay.delete(working);
    }
  }

  #next(kind: 'read' | 'write'): Strike['kind'] | null {
    const strike = this.#strike;
    if (strike === null) return null;
    const isTime = this.#calls >= strike.at;
    this.#calls += 1;
    const isCrash = strike.kind.startsWith('crash');
    if (!isTime || (kind === 'read' && !isCrash)) return null;
    this.#strike = null;
    const isPlain = strike.kind === 'crash_inside' && (kind === 'read' || !this.#rollsBack);
    const struck = isPlain ? 'crash_before' : strike.kind;
    if (isCrash) this.#figures.struck(struck);
    return struck;
  }

  #fault<E>(name: 'lock_timeout' | 'disk_full', error: E): E {
    this.#figures.struck(name);
    return error;
  }

  #die<T>(): Promise<T> {
    this.end();
    return never();
  }

  async #waitTurns(): Promise<void> {
    for (let turn = this.#turns.int(0, this.#mostTurns); turn > 0; turn -= 1) await Promise.resolve();
  }
}

function lockTimeout(): BusyError {
  return new BusyError('another process holds the lock', { hint: 'Try again.', facts: { injected: true } });
}

function diskFull(): StoreError {
  return new StoreError('store_unreadable', 'the disk is full', {
    hint: 'Free some space.',
    facts: { injected: true },
  });
}

/** True for an error that a life met on purpose. */
export function isInjected(error: unknown): boolean {
  return (error instanceof BusyError || error instanceof StoreError) && error.facts['injected'] === true;
}
