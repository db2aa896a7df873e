import type { JsonObject } from '../../core/json.ts';
import { UsageError } from '../../errors.ts';
import type { LeaderStore, Leadership } from '../../ports/leader-store.ts';
import type { RecordStore } from '../../ports/record-store.ts';
import type { ReplicaReader } from '../../ports/replica-reader.ts';
import type { SettleScan, SettleScanResult, StateStore } from '../../ports/settle-scan.ts';
import type { HttpChannel } from './http-channel.ts';

/** The scan of a served ledger. */
export function httpScan(channel: HttpChannel): SettleScan {
  return {
    settledAfter: async (position) =>
      (await channel.ask({ method: 'POST', path: '/ports/scan', body: { position } }))
        .body as SettleScanResult,
  };
}

/** The documents of a reconciler in a served ledger. */
export function httpState(channel: HttpChannel): StateStore {
  const pathOf = (name: string) => `/ports/state/${encodeURIComponent(name)}`;
  return {
    load: async (name) =>
      ((await channel.ask({ path: pathOf(name) })).body as { readonly value: JsonObject | null }).value,
    save: async (name, value) => {
      await channel.ask({ method: 'PUT', path: pathOf(name), body: { value }, writes: true });
    },
  };
}

/** The leases among processes in a served ledger. */
export function httpLeaders(channel: HttpChannel): LeaderStore {
  const pathOf = (name: string) => `/ports/leaders/${encodeURIComponent(name)}`;
  return {
    tryLead: async (name, holder, ttlMs) =>
      (
        await channel.ask({
          method: 'POST',
          path: pathOf(name),
          body: { holder, ttl_ms: ttlMs },
          writes: true,
        })
      ).body as Leadership,
    resign: async (name, holder) => {
      await channel.ask({ method: 'DELETE', path: pathOf(name), query: { holder }, writes: true });
    },
  };
}

/** The records of a served ledger. */
export function httpRecords(channel: HttpChannel): RecordStore {
  const pathOf = (id: string) => `/ports/records/${encodeURIComponent(id)}`;
  return {
    put: async (id, text) => {
      await channel.ask({ method: 'PUT', path: pathOf(id), body: { text }, writes: true });
    },
    get: async (id) =>
      ((await channel.ask({ path: pathOf(id) })).body as { readonly text: string | null }).text,
  };
}

/** Copies of rows on drives are read on the host that has the drives: a client that needs one is told so. */
export const httpReplicas: ReplicaReader = {
  read: async (drive, taskId) => {
    throw new UsageError('not_supported', 'copies of rows on drives are not read over HTTP', {
      hint: 'Ask the server for the effective row: GET /v1/tasks/ID?effective=true.',
      facts: { drive, task_id: taskId },
    });
  },
};
