import type { HttpChannel } from '../adapters/http/http-channel.ts';
import { httpChannel } from '../adapters/http/http-channel.ts';
import { httpCustodyReader } from '../adapters/http/http-custody-reader.ts';
import { appendAcceptedOverHttp, appendOverHttp, readOverHttp } from '../adapters/http/http-log.ts';
import { httpRows } from '../adapters/http/http-rows.ts';
import {
  httpLeaders,
  httpRecords,
  httpReplicas,
  httpScan,
  httpState,
} from '../adapters/http/http-small-ports.ts';
import { UsageError } from '../errors.ts';
import type { Clock, NewId } from '../ports/clock.ts';
import type { Head } from '../ports/event-store.ts';
import type { LedgerStore, VerifyReport } from '../ports/ledger-store.ts';
import type { ProcessControl } from '../ports/process-control.ts';
import { idArgument } from '../shell/arguments.ts';
import type { Ledger, ManagedCommands } from '../shell/ledger.ts';
import { sender } from './remote-commands.ts';
import { remoteLeases } from './remote-leases.ts';
import { remoteQuestions } from './remote-questions.ts';
import { remoteRuns } from './remote-runs.ts';
import { remoteTasks } from './remote-tasks.ts';
import { remoteWaits } from './remote-waits.ts';

/** How a served ledger is opened. */
export interface RemoteOptions {
  readonly origin: string;
  readonly token: string | null;
  readonly readOnly: boolean;
  readonly newId: NewId;
  readonly processes: ProcessControl;
  /** @default the server's, by what it said when the ledger was opened */
  readonly clock: Clock | null;
  readonly patienceMs: number;
}

/** How long a check of the whole log may take, in milliseconds. */
const VERIFY_MS = 3_600_000;

interface StoreJson {
  readonly kind: LedgerStore['kind'];
  readonly schema_version: number;
  readonly manages_tasks: boolean;
  readonly has_replicas: boolean;
  readonly now_ms: number;
}

/**
 * A ledger that another process serves, by its API under `/v1`. Every request is safe to make again, so that an answer
 * that got lost does nothing twice.
 *
 * @throws RemoteError `store_unreachable`; also if what answers is no custody server.
 */
export async function openRemote(options: RemoteOptions): Promise<Ledger> {
  const channel = httpChannel(options);
  const store = await askStore(channel);
  const clock = options.clock ?? clockOf(store);
  const commandsOf = (requestId: string | null): ManagedCommands => {
    const send = sender(channel, requestId);
    return {
      tasks: remoteTasks(channel, send),
      runs: remoteRuns(channel, send, options.processes),
      questions: remoteQuestions(channel, send),
      leases: remoteLeases(channel, send, options.processes),
    };
  };
  const commands = commandsOf(null);
  return {
    kind: store.kind,
    url: options.origin,
    created: false,
    schemaVersion: store.schema_version,
    clock,
    custody: httpCustodyReader(channel),
    rows: httpRows(channel),
    scan: httpScan(channel),
    state: httpState(channel),
    leaders: httpLeaders(channel),
    records: httpRecords(channel),
    replicas: store.has_replicas ? httpReplicas : null,
    commits: null,
    managesTasks: store.manages_tasks,
    ...commands,
    ...remoteWaits(channel, commands.runs),
    once: (requestId) => commandsOf(idArgument('request_id', requestId)),
    raiseEpoch: () =>
      refuse('an epoch is not raised over HTTP', 'Use custody failover on the host of the store.'),
    append: (events, { writer = 'anyone' } = {}) => appendOverHttp(channel, events, writer),
    appendAccepted: (request) => appendAcceptedOverHttp(channel, request),
    read: (query = {}) => readOverHttp(channel, query),
    head: async () => (await channel.ask({ path: '/head' })).body as Head,
    verify: async ({ rebuild, expectHead, proof } = {}) => {
      if (proof !== undefined) return refuseProof();
      const query = { rebuild, head_seq: expectHead?.seq, head_hash: expectHead?.hash };
      const { body } = await channel.ask({ path: '/verify', query, timeoutMs: VERIFY_MS });
      return body as VerifyReport;
    },
    takeCheckpoint: () => refuseProof(),
    recordCheckpoint: () => refuseProof(),
    close: async () => undefined,
    [Symbol.asyncDispose]: async () => undefined,
  };
}

async function askStore(channel: HttpChannel): Promise<StoreJson> {
  const { body } = await channel.ask({ path: '/store' });
  return body as StoreJson;
}

/** The server's clock from here: only the difference of the two is known. */
function clockOf(store: StoreJson): Clock {
  const difference = store.now_ms - Date.now();
  return { now: () => Date.now() + difference };
}

/** A checkpoint vouches for a store that its signer has read himself. */
function refuseProof(): Promise<never> {
  return refuse('checkpoints are not made or checked over HTTP', 'Use the store itself, on its host.');
}

async function refuse(message: string, hint: string): Promise<never> {
  throw new UsageError('not_supported', message, { hint });
}
