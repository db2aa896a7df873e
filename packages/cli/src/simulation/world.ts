import type {
  Clock,
  Journals,
  Ledger,
  LedgerStore,
  NewEvent,
  NewId,
  ProcessControl,
  ProcessIdentity,
} from '@custody/ledger';
import { createLedger, openJournals } from '@custody/ledger';
import type { RunGateway } from '@custody/reconciler';
import { Executor } from './executor.ts';
import type { Figures } from './figures.ts';
import { Life } from './life.ts';
import { livedStore } from './lived-store.ts';
import type { HandleParts, Place } from './place.ts';
import type { SharedFolder } from './shared-files.ts';
import { livedFiles } from './shared-files.ts';

/** How many nodes there are. */
const NODES = 3;

const START_MS = Date.parse('2026-03-01T00:00:00.000Z');

/** Whose handle it is: that of a process, or the one that looks on and never meets a fault. */
export interface HandleOwner {
  readonly who: 'node' | 'eyes';
  readonly world: World;
  readonly hasEnded: () => boolean;
}

/**
 * What stands between a process and the outside. A control replaces one of these by one that leaves a guard out,
 * to show that the promise behind it is really looked at.
 */
export interface Seams {
  readonly store?: (store: LedgerStore, owner: HandleOwner) => LedgerStore;
  readonly ledger?: (ledger: Ledger, world: World) => Ledger;
  readonly gateway?: (gateway: RunGateway) => RunGateway;
}

/** A message to the ledger that is on its way. It keeps its id however often it is sent. */
export interface Message {
  readonly event: NewEvent & { readonly id: string };
}

/** A run as a claim gave it. Whoever has it goes on writing under it, long after it was taken away. */
export interface Held {
  readonly taskId: string;
  readonly runId: string;
  fence: number;
  readonly holder: string;
  readonly pid: number | null;
}

/** A process with its handle on the ledger. */
export interface Running {
  readonly life: Life;
  readonly ledger: Ledger;
  readonly journals: Journals;
  readonly gateway: RunGateway;
  /** The epoch in which the handle may write. */
  epoch: number;
}

/** A machine on which one process at a time runs. */
export interface Node {
  readonly index: number;
  /** How far its clock is off, in milliseconds. */
  skewMs: number;
  running: Running | null;
}

/** Everything outside of the ledger, and what is known there. The same steps make the same world. */
export class World {
  readonly figures: Figures;
  readonly executor: Executor;
  readonly nodes: readonly Node[];
  readonly folder: SharedFolder = new Map();
  /** Messages that nobody has got through yet. */
  readonly outbox: Message[] = [];
  /** Everything that was ever sent, by id; a repeat may come at any time. */
  readonly sent = new Map<string, Message>();
  /** Ids of events and starts of runs whose writing was acknowledged. */
  readonly acknowledged = new Map<string, 'event' | 'claim' | 'seq'>();
  readonly held: Held[] = [];
  readonly questions: string[] = [];
  readonly answers = new Map<string, string>();
  readonly taskIds: string[] = [];
  /** Ids of rows that somebody other than a healer wrote, or tried to. */
  readonly writtenRows = new Set<string>();
  /** Those of them that somebody wrote since the last look. */
  readonly puts = new Set<string>();
  /** How often something happened in the middle of another step. */
  disturbances = 0;
  /** Results that were kept in a journal. */
  readonly journaled: { readonly taskId: string; readonly runId: string }[] = [];
  readonly processes: SimProcesses;
  /** Steps for which the log can still not be read. */
  unreadableFor = 0;
  readonly place: Place;
  readonly seams: Seams;
  #now = START_MS;
  #counter = 0;

  constructor(options: { readonly place: Place; readonly figures: Figures; readonly seams: Seams }) {
    this.place = options.place;
    this.figures = options.figures;
    this.seams = options.seams;
    this.executor = new Executor(options.figures);
    this.processes = simProcesses();
    this.nodes = Array.from({ length: NODES }, (_, index) => ({ index, skewMs: 0, running: null }));
  }

  get now(): number {
    return this.#now;
  }

  advance(milliseconds: number): void {
    this.#now += milliseconds;
  }

  /** A number that was never given before. */
  next(): number {
    this.#counter += 1;
    return this.#counter;
  }

  /** The process of a node; a new one where the last one has ended. */
  async running(node: Node): Promise<Running> {
    if (node.running !== null && !node.running.life.hasEnded()) return node.running;
    const life = new Life(this.figures, this.place.rollsBack);
    const clock: Clock = {
      now: () => {
        life.inside();
        return this.#now + node.skewMs;
      },
    };
    const newId: NewId = () => {
      life.inside();
      return `id-${this.next()}`;
    };
    const store = await this.#open(
      { clock, newId },
      { who: 'node', world: this, hasEnded: () => life.hasEnded() },
    );
    const ledger = createLedger(
      livedStore(store, life, () => this.unreadableFor > 0),
      clock,
      this.processes,
    );
    const gateway = this.executor.gatewayOf(life);
    node.running = {
      life,
      ledger: this.seams.ledger?.(ledger, this) ?? ledger,
      journals: openJournals('journals', { clock, files: livedFiles(this.folder, life) }),
      gateway: this.seams.gateway?.(gateway) ?? gateway,
      epoch: (await store.events.head()).epoch,
    };
    return node.running;
  }

  /** A handle that only looks on, or sets right in the end. */
  async openEyes(): Promise<Ledger> {
    const clock: Clock = { now: () => this.#now };
    const store = await this.#open(
      { clock, newId: () => `id-${this.next()}` },
      { who: 'eyes', world: this, hasEnded: () => false },
    );
    return createLedger(store, clock, this.processes);
  }

  async #open(parts: HandleParts, owner: HandleOwner): Promise<LedgerStore> {
    const store = await this.place.open(parts);
    return this.seams.store?.(store, owner) ?? store;
  }
}

/** The processes of holders. */
export interface SimProcesses extends ProcessControl {
  start(): number;
  end(pid: number): void;
  /** Signals that were sent so far. */
  readonly signals: readonly number[];
}

function simProcesses(): SimProcesses {
  const alive = new Map<number, ProcessIdentity>();
  const signals: number[] = [];
  let last = 100;
  return {
    signals,
    start: () => {
      last += 1;
      alive.set(last, { pid: last, started_at_ticks: last, boot_id: 'boot-1' });
      return last;
    },
    end: (pid) => {
      alive.delete(pid);
    },
    identify: async (pid) => alive.get(pid) ?? null,
    stateOf: async ({ pid }) => (alive.has(pid) ? 'alive' : 'gone'),
    signal: async ({ pid }) => {
      signals.push(pid);
      alive.delete(pid);
      return true;
    },
    wait: async () => undefined,
  };
}
