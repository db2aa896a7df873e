import { setTimeout as sleep } from 'node:timers/promises';
import { LedgerError, RemoteError } from '../../errors.ts';
import type { NewId } from '../../ports/clock.ts';
import { bodyLines } from './body-lines.ts';
import { toLedgerError, toldFailure } from './remote-error.ts';

/** One request to a served ledger. Each is safe to make again; commands are by their request id. */
interface Call {
  readonly method?: 'GET' | 'POST' | 'PUT' | 'DELETE';
  /** Under `/v1`. */
  readonly path: string;
  readonly query?: Readonly<Record<string, string | number | boolean | undefined>>;
  readonly body?: object;
  /** JSON Lines in the place of a document. */
  readonly lines?: string;
  /** True if it writes; refused on a handle that is open for reading only. */
  readonly writes?: boolean;
  /** Names the request, so that a command is carried out once. */
  readonly requestId?: string;
  /** How long one attempt may take, in milliseconds. @default one minute */
  readonly timeoutMs?: number;
  readonly signal?: AbortSignal | undefined;
}

/** What a server answered, if it was no failure. */
interface Answered {
  readonly status: number;
  readonly body: unknown;
}

/** The way to a served ledger. */
export interface HttpChannel {
  readonly newId: NewId;
  /** @throws what the ledger threw there; RemoteError `store_unreachable` if there was no answer for too long. */
  ask(call: Call): Promise<Answered>;
  /** Lines of an answer as they come. Only its beginning is asked for again. */
  lines(call: Call): AsyncIterable<string>;
}

/** How a channel is opened. */
export interface HttpChannelOptions {
  /** Without a path, a query and credentials. */
  readonly origin: string;
  readonly token: string | null;
  readonly readOnly: boolean;
  readonly newId: NewId;
  /** How long a request is made again while there is no answer, in milliseconds. */
  readonly patienceMs: number;
}

/** The shortest and the longest wait before a request is made again, in milliseconds. */
const FIRST_WAIT_MS = 50;
const LONGEST_WAIT_MS = 2_000;

const DEFAULT_TIMEOUT_MS = 60_000;

/** Statuses of a way that is closed for now: what is behind it may be on its way to come back. */
const CLOSED_FOR_NOW: ReadonlySet<number> = new Set([429, 502, 503, 504]);

/** Opens a channel. Nothing is sent before the first request. */
export function httpChannel(options: HttpChannelOptions): HttpChannel {
  return {
    newId: options.newId,
    ask: (call) => persist(options, call, readAnswer),
    lines: (call) => linesOf(options, call),
  };
}

async function* linesOf(options: HttpChannelOptions, call: Call): AsyncGenerator<string, void> {
  const body = await persist(options, call, async (response) => response.body);
  if (body === null) return;
  try {
    yield* bodyLines(body);
  } catch (error) {
    call.signal?.throwIfAborted();
    if (error instanceof LedgerError) throw error;
    throw unreachable(options, 'the answer was cut off', error);
  }
}

/** What became of one attempt: an answer, or what to throw if there is no time for another one. */
type Attempt<T> = { readonly value: T } | { readonly error: Error };

/** Makes a request again, each time after a longer wait of a random part, until there is an answer or no patience left. */
async function persist<T>(
  options: HttpChannelOptions,
  call: Call,
  read: (response: Response) => Promise<T>,
): Promise<T> {
  if (options.readOnly && call.writes === true)
    throw new RemoteError('read_only', 'the ledger is open for reading only', {
      hint: 'Open it without readOnly to write.',
    });
  const deadline = performance.now() + options.patienceMs;
  for (let wait = FIRST_WAIT_MS; ; wait = Math.min(wait * 2, LONGEST_WAIT_MS)) {
    const attempt = await attemptOnce(options, call, read);
    if ('value' in attempt) return attempt.value;
    const pause = wait * (0.5 + Math.random() / 2);
    if (performance.now() + pause > deadline) throw attempt.error;
    await sleep(pause, undefined, call.signal === undefined ? {} : { signal: call.signal }).catch(() =>
      call.signal?.throwIfAborted(),
    );
  }
}

async function attemptOnce<T>(
  options: HttpChannelOptions,
  call: Call,
  read: (response: Response) => Promise<T>,
): Promise<Attempt<T>> {
  try {
    const response = await send(options, call);
    if (response.ok) return { value: await read(response) };
    const text = await response.text();
    const error = judge(options, response.status, text);
    return error === null
      ? { value: await read(new Response(text, { status: response.status })) }
      : { error };
  } catch (cause) {
    call.signal?.throwIfAborted();
    if (cause instanceof Failed) throw cause.told;
    // The connection was refused, or cut: also while the answer was on its way.
    return { error: unreachable(options, 'there is no answer', cause) };
  }
}

/** A "no" that asking again does not change. */
class Failed extends Error {
  readonly told: Error;

  constructor(told: Error) {
    super(told.message);
    this.told = told;
  }
}

/**
 * What a status other than success means: null for an answer such as a refusal, an error if it is no answer yet.
 *
 * @throws Failed for a "no" that stays.
 */
function judge(options: HttpChannelOptions, status: number, text: string): Error | null {
  const body = parse(text);
  const failure = toldFailure(body);
  if (failure === null && typeof body === 'object' && body !== null && 'outcome' in body) return null;
  const error =
    failure === null ? unreachable(options, `the answer was ${status}`, null) : toLedgerError(failure);
  const isBusy = failure === null || failure.code === 'busy' || failure.code === 'too_many_requests';
  if (isBusy && CLOSED_FOR_NOW.has(status)) return error;
  throw new Failed(error);
}

async function readAnswer(response: Response): Promise<Answered> {
  const body = parse(await response.text());
  if (body !== undefined) return { status: response.status, body };
  throw new Failed(
    new RemoteError('store_unreachable', 'the answer is no JSON: this is no custody server', {
      hint: 'Check the URL of the store.',
    }),
  );
}

function send(options: HttpChannelOptions, call: Call): Promise<Response> {
  const { method = 'GET', path, query = {}, body, lines, requestId, timeoutMs = DEFAULT_TIMEOUT_MS } = call;
  const url = new URL(`/v1${path}`, options.origin);
  for (const [name, value] of Object.entries(query))
    if (value !== undefined) url.searchParams.set(name, String(value));
  const time = AbortSignal.timeout(timeoutMs);
  return fetch(url, {
    method,
    headers: {
      accept: 'application/json, application/x-ndjson',
      ...(body === undefined && lines === undefined
        ? {}
        : { 'content-type': lines === undefined ? 'application/json' : 'application/x-ndjson' }),
      ...(options.token === null ? {} : { authorization: `Bearer ${options.token}` }),
      ...(requestId === undefined ? {} : { 'idempotency-key': requestId }),
    },
    ...(body === undefined && lines === undefined ? {} : { body: lines ?? JSON.stringify(body) }),
    // Who is sent elsewhere has the wrong URL; a token must not go with it.
    redirect: 'manual',
    signal: call.signal === undefined ? time : AbortSignal.any([time, call.signal]),
  });
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text) as unknown;
  } catch {
    return undefined;
  }
}

function unreachable({ origin }: HttpChannelOptions, problem: string, cause: unknown): RemoteError {
  const detail = cause instanceof Error ? `: ${reasonOf(cause)}` : '';
  return new RemoteError('store_unreachable', `${origin} can't be used, ${problem}${detail}`, {
    hint: 'Is the server running there? If something was to be written, see whether it was before asking again.',
    facts: { url: origin },
    ...(cause === null ? {} : { cause }),
  });
}

/** What fetch says is always the same; what it hides says why. */
function reasonOf(error: Error): string {
  return error.cause instanceof Error ? error.cause.message : error.message;
}
