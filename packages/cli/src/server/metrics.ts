import type { Ledger } from '@custody/ledger';
import { isJsonObject, toEpochMillis } from '@custody/ledger';
import type { Stats } from '@custody/reconciler';
import { createReconciler } from '@custody/reconciler';
import type { MiddlewareHandler } from 'hono';
import { Hono } from 'hono';
import { routePath } from 'hono/route';
import { collectDefaultMetrics, Gauge, Histogram, Registry } from 'prom-client';
import type { ServedNode } from './served-node.ts';

/** The figures of a server, in the text format of Prometheus. */
export interface ServerMetrics {
  /** Counts requests and their times. */
  readonly observe: MiddlewareHandler;
  /** Answers `GET /metrics`. */
  readonly api: Hono;
}

/** Seconds; from a read that hits the cache to a write that waits for a lock. */
const LATENCIES = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 15];

/** Collects the figures of a server and its ledger. */
export function serverMetrics(node: ServedNode, onFault: (error: unknown) => void): ServerMetrics {
  const register = new Registry();
  collectDefaultMetrics({ register });
  const latency = new Histogram({
    name: 'custody_http_request_duration_seconds',
    help: 'Requests and how long they took.',
    labelNames: ['method', 'route', 'status'],
    buckets: LATENCIES,
    registers: [register],
  });
  const ledger = ledgerGauges(register);
  const nodeGauges = {
    up: gauge(register, 'custody_up', '1 if the ledger could be read for these figures.'),
    isPrimary: gauge(register, 'custody_node_is_primary', '1 if this node takes writes.'),
    isFenced: gauge(register, 'custody_node_is_fenced', '1 if another node has taken over from this one.'),
  };
  const api = new Hono();
  api.get('/metrics', async (context) => {
    nodeGauges.isFenced.set((await node.fence()) === null ? 0 : 1);
    try {
      nodeGauges.isPrimary.set((await node.role()) === 'primary' ? 1 : 0);
      await node.read((open) => ledger.read(open));
      nodeGauges.up.set(1);
    } catch (error) {
      onFault(error);
      ledger.forget();
      nodeGauges.isPrimary.set(0);
      nodeGauges.up.set(0);
    }
    return context.body(await register.metrics(), 200, { 'content-type': register.contentType });
  });
  return {
    api,
    observe: async (context, next) => {
      const stop = latency.startTimer();
      await next();
      stop({ method: context.req.method, route: routePath(context, -1), status: context.res.status });
    },
  };
}

interface LedgerGauges {
  read(ledger: Ledger): Promise<void>;
  /** What can't be known now must not be told. */
  forget(): void;
}

function ledgerGauges(register: Registry): LedgerGauges {
  const single = (name: string, help: string): Gauge => gauge(register, `custody_${name}`, help);
  const byLabel = (name: string, label: string, help: string): Gauge =>
    new Gauge({ name: `custody_${name}`, help, labelNames: [label], registers: [register] });
  const gauges = {
    oldest: single(
      'oldest_unreconciled_age_seconds',
      'Age of the oldest thing that is owed; 0 if nothing is.',
    ),
    owed: byLabel('obligations', 'kind', 'What is owed, by kind.'),
    passAt: byLabel('last_pass_timestamp_seconds', 'pass', 'When a pass ran last.'),
    passFailed: byLabel('last_pass_failed', 'pass', 'Rows that the last pass could not heal.'),
    lag: single('cursor_lag', 'Events that the cursor pass has not looked at.'),
    deferred: single('deferred', 'Tasks that wait for a later sweep.'),
    parked: single('parked_items', 'Items that failed in 5 passes and wait for somebody to look.'),
    tasks: single('tasks', 'Task rows.'),
    runs: single('runs', 'Runs that the log knows.'),
    headSeq: single('head_seq', 'Number of the newest event.'),
    epoch: single('epoch', 'Epoch of the ledger.'),
  };

  function tell(stats: Stats, now: number): void {
    const { oldest_unreconciled_at: oldest } = stats;
    gauges.oldest.set(oldest === null ? 0 : Math.max(0, now - toEpochMillis(oldest)) / 1000);
    for (const [kind, count] of Object.entries(owedIn(stats))) gauges.owed.set({ kind }, count);
    for (const [pass, report] of Object.entries(stats.last_pass)) {
      if (!isJsonObject(report)) continue;
      const { at, failed } = report;
      if (typeof at === 'string') gauges.passAt.set({ pass }, toEpochMillis(at) / 1000);
      if (typeof failed === 'number') gauges.passFailed.set({ pass }, failed);
    }
    gauges.lag.set(stats.cursor_lag);
    gauges.deferred.set(stats.deferred);
    gauges.parked.set(stats.parked_items);
    gauges.tasks.set(stats.tasks);
    gauges.runs.set(stats.runs);
  }

  return {
    read: async (ledger) => {
      tell(await createReconciler(ledger).stats(), ledger.clock.now());
      const { seq, epoch } = await ledger.head();
      gauges.headSeq.set(seq);
      gauges.epoch.set(epoch);
    },
    forget: () => {
      for (const each of Object.values(gauges)) {
        each.reset();
        each.remove();
      }
    },
  };
}

function owedIn(stats: Stats): Readonly<Record<string, number>> {
  return {
    open_run: stats.open_runs,
    pending_invocation: stats.pending_invocations,
    undisposed_patch: stats.undisposed_patches,
    open_question: stats.open_questions,
    open_fault: stats.open_faults,
  };
}

function gauge(register: Registry, name: string, help: string): Gauge {
  return new Gauge({ name, help, registers: [register] });
}
