import type { Ledger, RecordedEvent, StoredEvent, TaskRow } from '@custody/ledger';
import {
  chainHash,
  GENESIS_HASH,
  isJsonObject,
  isTerminalStatus,
  LIVE_ENVELOPE_KEYS,
  LIVE_KEYS,
} from '@custody/ledger';
import { createReconciler } from '@custody/reconciler';
import { LogModel, textIn } from './log-model.ts';
import type { Oracle, Replay } from './oracle.ts';
import type { World } from './world.ts';

/** What was seen of a row at one moment. */
interface SeenRow {
  readonly row: TaskRow;
  readonly version: string;
  readonly isTerminal: boolean;
  /** The texts of what may not change once the row has ended, by field. */
  readonly frozen: ReadonlyMap<string, string>;
  /** The text of what a healer may change. */
  readonly live: string;
}

/** What was seen of the ledger at one moment, when nothing was going on. */
export interface Seen {
  readonly events: readonly RecordedEvent[];
  readonly rows: ReadonlyMap<string, SeenRow>;
  readonly epoch: number;
  readonly replay: Replay;
}

const ENDS_BY_HEALER: Readonly<Record<string, string>> = { 'run.closed_absent': 'absent' };
/** What a row of a managed task still says after its end. */
const LATE_FIELDS = new Set(['archived']);

/** Looks at a ledger after each step and holds what it sees against what it saw before, and against a full replay. */
export class Observer {
  readonly model: LogModel;
  readonly #world: World;
  readonly #oracle: Oracle;
  #eyes: Ledger | null = null;
  #eyesEpoch = 0;
  #stored: readonly StoredEvent[] = [];
  #hash = GENESIS_HASH;
  #last: Seen | null = null;
  readonly #confirmed = new Set<string>();

  constructor(world: World, oracle: Oracle) {
    this.#world = world;
    this.#oracle = oracle;
    this.model = new LogModel(world.figures);
  }

  /** What was seen last. */
  get last(): Seen {
    if (this.#last === null) throw new Error('nothing was seen yet');
    return this.#last;
  }

  /** A handle without faults, of the current epoch. */
  async eyes(): Promise<Ledger> {
    const { epoch } = this.#eyes === null ? { epoch: -1 } : await this.#eyes.head();
    if (this.#eyes !== null && epoch === this.#eyesEpoch) return this.#eyes;
    this.#eyes = await this.#world.openEyes();
    this.#eyesEpoch = (await this.#eyes.head()).epoch;
    return this.#eyes;
  }

  /** Looks at everything. `isPass` = nobody but healers can have written rows that had ended. */
  async look(): Promise<Seen> {
    const ledger = await this.eyes();
    const before = this.#last;
    const events = await this.#readLog(ledger);
    const rows = await readRows(ledger);
    const isSameLog = events.length === before?.events.length;
    const seen: Seen = {
      events,
      rows,
      epoch: this.#eyesEpoch,
      replay: isSameLog ? before.replay : this.#oracle(events),
    };

    this.#checkAcknowledged(seen);
    this.#checkRows(before, seen);
    this.#checkEvidence(before, seen);
    if (!isSameLog) await this.#checkAudit(ledger, seen);
    await this.#checkManaged(ledger, before, seen);
    this.#last = seen;
    return seen;
  }

  async #readLog(ledger: Ledger): Promise<readonly RecordedEvent[]> {
    const { figures, place } = this.#world;
    const stored: StoredEvent[] = [];
    for await (const item of ledger.read()) stored.push(item);
    for (const [index, was] of this.#stored.entries()) {
      const is = stored[index];
      if (is?.text === was.text && is.event.hash === was.event.hash) continue;
      figures.hold('P2', false, () => `event ${index + 1} was ${was.text} and is ${is?.text ?? 'gone'}`);
    }
    for (const [index, { event, text }] of stored.entries()) {
      if (index < this.#stored.length) continue;
      figures.hold('P2', event.seq === index + 1, () => `event ${event.seq} stands at place ${index + 1}`);
      if (place.kind !== 'jsonl')
        figures.hold(
          'P2',
          chainHash(this.#hash, text) === event.hash,
          () => `event ${event.seq} does not continue the chain`,
        );
      this.#hash = event.hash;
      this.model.read(event);
      this.#checkEnd(event);
    }
    this.#stored = stored;
    return stored.map((item) => item.event);
  }

  /** An end that no message told of was written by a healer: its executor must have said so. */
  #checkEnd(event: RecordedEvent): void {
    const isEnd = event.type === 'run.settled' || event.type === 'run.closed_absent';
    if (!isEnd || this.#world.sent.has(event.id)) return;
    const word = ENDS_BY_HEALER[event.type] ?? textIn(event, 'state');
    const isSaid = this.#world.executor.said.get(textIn(event, 'run_id'))?.has(word) === true;
    this.#world.figures.hold(
      'P15',
      isSaid,
      () => `${event.type} of ${textIn(event, 'run_id')} says ${word}, which nobody said`,
    );
  }

  #checkAcknowledged({ events }: Seen): void {
    const { acknowledged, figures } = this.#world;
    if (acknowledged.size === this.#confirmed.size) return;
    const ids = new Set(events.map((event) => event.id));
    for (const [key, kind] of acknowledged) {
      if (this.#confirmed.has(key)) continue;
      const isThere = kind === 'seq' ? Number(key) <= events.length : ids.has(key);
      figures.hold('P1', isThere, () => `${kind} ${key} was acknowledged and is not in the log`);
      this.#confirmed.add(key);
    }
  }

  #checkRows(before: Seen | null, { rows }: Seen): void {
    const { figures, writtenRows } = this.#world;
    for (const [id, row] of rows) {
      figures.hold('P8', writtenRows.has(id), () => `there is a row of ${id}, which nobody wrote`);
      const was = before?.rows.get(id);
      if (was?.isTerminal !== true) continue;
      for (const [field, text] of was.frozen) {
        const is = row.frozen.get(field);
        figures.hold('P4', is === text, () => `${field} of the ended ${id} was ${text} and is ${String(is)}`);
      }
    }
    for (const id of before?.rows.keys() ?? [])
      figures.hold('P4', rows.has(id), () => `the row of ${id} is gone`);
  }

  /** Evidence stands in the log if, and only if, the live part of an ended row changed. */
  #checkEvidence(before: Seen | null, { rows, events }: Seen): void {
    const fresh = events.slice(before?.events.length ?? 0);
    const told = new Set(
      fresh
        .filter((event) => /^custody\.(un)?reconciled$/.test(event.type))
        .map((event) => textIn(event, 'task_id')),
    );
    const { puts } = this.#world;
    for (const [id, row] of rows) {
      const was = before?.rows.get(id);
      // A field that its orchestrator adds is no heal.
      if (was?.isTerminal !== true || puts.has(id)) continue;
      const isChanged = was.live !== row.live;
      if (isChanged || told.has(id)) {
        this.#world.figures.hold('P6', isChanged === told.has(id), () =>
          isChanged
            ? `the live part of ${id} changed and no event tells of it`
            : `an event tells of a change of ${id}, and nothing changed`,
        );
      }
    }
    puts.clear();
  }

  /** What the ledger says that tasks owe, from what it keeps by key, equals what a full replay says. */
  async #checkAudit(ledger: Ledger, { events, replay }: Seen): Promise<void> {
    const ids = [...new Set(events.map((event) => textIn(event, 'task_id')))].filter((id) => id !== '');
    if (ids.length === 0) return;
    const { tasks } = await createReconciler(ledger).audit(ids);
    for (const { task_id, audit } of tasks) {
      const said = audit.unreconciled.join(' ');
      const right = replay.unreconciled(task_id).join(' ');
      this.#world.figures.hold(
        'P3',
        said === right,
        () => `${task_id} owes ${right}, and its audit says ${said}`,
      );
    }
  }

  async #checkManaged(ledger: Ledger, before: Seen | null, { events, replay }: Seen): Promise<void> {
    const { figures } = this.#world;
    const fresh = new Set(events.slice(before?.events.length ?? 0).map((event) => textIn(event, 'task_id')));
    for (const id of this.#world.taskIds) {
      if (!fresh.has(id)) continue;
      const task = await ledger.tasks.get(id);
      if (task === null) continue;
      const open = task.runs.filter((run) => run.ended_at === null).map((run) => run.run_id);
      figures.hold('P11', open.length <= 1, () => `${id} has the open attempts ${open.join(', ')}`);
      const right = replay.managed?.get(id);
      if (right === undefined) continue;
      const is = {
        status: task.status,
        current_run_id: task.current_run_id,
        outcomes: task.runs.map((run) => [run.run_id, run.outcome] as const),
      };
      figures.hold(
        'P3',
        JSON.stringify(is) === JSON.stringify(right),
        () => `${id} is ${JSON.stringify(is)}, and a replay says ${JSON.stringify(right)}`,
      );
    }
  }
}

async function readRows(ledger: Ledger): Promise<ReadonlyMap<string, SeenRow>> {
  const rows = new Map<string, SeenRow>();
  for await (const { row, version } of ledger.rows.list({})) {
    const envelope = row.value['subagent_envelope'];
    const frozen = new Map(
      [...row.raw].filter(
        ([key]) => !LIVE_KEYS.includes(key) && key !== 'subagent_envelope' && !LATE_FIELDS.has(key),
      ),
    );
    const live = new Map([...row.raw].filter(([key]) => LIVE_KEYS.includes(key)));
    for (const [key, value] of Object.entries(isJsonObject(envelope) ? envelope : {}))
      (LIVE_ENVELOPE_KEYS.includes(key) ? live : frozen).set(
        `subagent_envelope.${key}`,
        JSON.stringify(value),
      );
    rows.set(row.task_id, {
      row,
      version,
      isTerminal: isTerminalStatus(row.status),
      frozen,
      live: JSON.stringify([...live].sort(([a], [b]) => (a < b ? -1 : 1))),
    });
  }
  return rows;
}
