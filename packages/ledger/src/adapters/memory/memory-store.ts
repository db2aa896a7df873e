import { CustodyFold } from '../../core/custody-fold.ts';
import type { JsonObject } from '../../core/json.ts';
import { ManagedFold } from '../../core/managed/managed-fold.ts';
import type { RecordedEvent, StoredEvent } from '../../core/recorded-event.ts';
import type { Clock, NewId } from '../../ports/clock.ts';
import type { LeaderStore } from '../../ports/leader-store.ts';
import type { LedgerStore } from '../../ports/ledger-store.ts';
import type { SettleScan, StateStore } from '../../ports/settle-scan.ts';
import { memoryCustodyReader } from './memory-custody-reader.ts';
import type { MemoryLog } from './memory-event-store.ts';
import { memoryEventStore } from './memory-event-store.ts';
import type { MemorySession } from './memory-managed-store.ts';
import { assertCurrent, memoryManagedStore } from './memory-managed-store.ts';
import type { RowSlots } from './memory-task-rows.ts';
import { memoryTaskRows } from './memory-task-rows.ts';
import { verifyMemory } from './memory-verify.ts';

type LeaderLeases = Map<string, { holder: string; fence: number; expiresAt: number }>;

/** What the handles on one memory ledger share, as the handles on a file share the file. */
export interface MemoryPlace {
  readonly log: MemoryLog;
  readonly slots: RowSlots;
  readonly documents: Map<string, string>;
  readonly leaders: LeaderLeases;
  readonly records: Map<string, string>;
}

/** A place for a new memory ledger; it lives as long as somebody keeps it. */
export function memoryPlace(newId: NewId): MemoryPlace {
  return {
    log: {
      stored: [] as StoredEvent[],
      byId: new Map<string, RecordedEvent>(),
      fold: new CustodyFold(),
      managed: new ManagedFold(),
      epoch: 1,
      incarnation: newId(),
      waiters: new Set(),
      onTouched: () => undefined,
      onManaged: () => undefined,
    },
    slots: new Map(),
    documents: new Map(),
    leaders: new Map(),
    records: new Map(),
  };
}

/** A ledger that lives as long as its process: the reference of the contract suite, and the double in tests. */
export function memoryStore(options: {
  readonly clock: Clock;
  readonly newId: NewId;
  /** Where another handle left it. @default a new one */
  readonly place?: MemoryPlace | undefined;
}): LedgerStore {
  const isNew = options.place === undefined;
  const { log, slots, documents, leaders, records } = options.place ?? memoryPlace(options.newId);
  const session: MemorySession = { epoch: log.epoch };
  const ifCurrent = currentOnly(log, session);
  const events = memoryEventStore(log, options.clock, options.newId);
  const rows = memoryTaskRows(log, {
    slots,
    clock: options.clock,
    appendEvidence: async (event) => {
      await events.append([{ events: [event] }]);
    },
  });
  const state = memoryStateStore(documents);
  const leases = memoryLeaderStore(leaders, options.clock);
  return {
    kind: 'memory',
    url: 'memory:',
    created: isNew,
    schemaVersion: 1,
    events: { ...events, append: ifCurrent(events.append) },
    rows: {
      ...rows,
      put: ifCurrent(rows.put),
      update: ifCurrent(rows.update),
      confirm: ifCurrent(rows.confirm),
    },
    custody: memoryCustodyReader(log),
    scan: memorySettleScan(log),
    state: { ...state, save: ifCurrent(state.save) },
    managed: memoryManagedStore({ log, session, rows, state, ...options }),
    leaders: { tryLead: ifCurrent(leases.tryLead), resign: ifCurrent(leases.resign) },
    records: {
      put: ifCurrent(async (id, text) => {
        records.set(id, text);
      }),
      get: async (id) => records.get(id) ?? null,
    },
    verify: async (request) => verifyMemory(log, request),
    close: async () => undefined,
  };
}

/** Refuses what a handle of an older epoch would write, as every store does. */
function currentOnly(log: MemoryLog, session: MemorySession) {
  return <Given extends readonly unknown[], Answer>(write: (...given: Given) => Promise<Answer>) =>
    async (...given: Given): Promise<Answer> => {
      assertCurrent(log, session);
      return write(...given);
    };
}

function memorySettleScan(log: MemoryLog): SettleScan {
  return {
    settledAfter: async (position) => {
      const known = validPosition(log, position);
      const fresh = log.stored.slice(known).map((item) => item.event);
      const settled = fresh.filter(
        (event) => event.type === 'run.settled' || event.type === 'run.closed_absent',
      );
      const taskIds = settled.flatMap((event) =>
        typeof event['task_id'] === 'string' && event['task_id'] !== '' ? [event['task_id']] : [],
      );
      return {
        outcome: 'scanned',
        task_ids: [...new Set(taskIds)],
        scanned: fresh.length,
        next: { seq: log.stored.length, incarnation: log.incarnation },
        moved: fresh.length > 0,
      };
    },
  };
}

/** A position counts only if it stands in this log; any other starts again at the beginning. */
function validPosition(log: MemoryLog, position: JsonObject | null): number {
  const seq = position?.['seq'];
  if (typeof seq !== 'number' || position?.['incarnation'] !== log.incarnation) return 0;
  return seq >= 0 && seq <= log.stored.length ? seq : 0;
}

function memoryStateStore(documents: Map<string, string>): StateStore {
  return {
    load: async (name) => {
      const text = documents.get(name);
      return text === undefined ? null : (JSON.parse(text) as JsonObject);
    },
    save: async (name, value) => {
      documents.set(name, JSON.stringify(value));
    },
  };
}

function memoryLeaderStore(leases: LeaderLeases, clock: Clock): LeaderStore {
  return {
    tryLead: async (name, holder, ttlMs) => {
      const now = clock.now();
      const lease = leases.get(name) ?? { holder: '', fence: 0, expiresAt: 0 };
      if (lease.holder !== '' && lease.holder !== holder && lease.expiresAt > now) {
        // One that runs on for longer than any is given was taken before the clock was set back.
        const expiresAt = Math.min(lease.expiresAt, now + ttlMs);
        leases.set(name, { ...lease, expiresAt });
        return { outcome: 'held', holder: lease.holder, expires_at: new Date(expiresAt).toISOString() };
      }
      const fence = lease.holder === holder && lease.expiresAt > now ? lease.fence : lease.fence + 1;
      leases.set(name, { holder, fence, expiresAt: now + ttlMs });
      return { outcome: 'leading', fence, expires_at: new Date(now + ttlMs).toISOString() };
    },
    resign: async (name, holder) => {
      const lease = leases.get(name);
      if (lease?.holder === holder) leases.set(name, { holder: '', fence: lease.fence, expiresAt: 0 });
    },
  };
}
