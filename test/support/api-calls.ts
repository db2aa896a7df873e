import type { Ledger } from '@custody/ledger';

/** What one answer of the API was. */
export interface ApiAnswer {
  readonly status: number;
  readonly type: string;
  readonly text: string;
}

/** One request to the API, by its place in the document. */
export interface ApiCall {
  /** `GET /tasks/{task_id}`. */
  readonly route: string;
  readonly params?: Readonly<Record<string, string>>;
  readonly query?: Readonly<Record<string, string>>;
  readonly body?: object;
  /** JSON Lines in the place of a document. */
  readonly lines?: string;
  readonly headers?: Readonly<Record<string, string>>;
}

/** Sends one request. */
export async function callApi(base: string, call: ApiCall): Promise<ApiAnswer> {
  const [method = '', path = ''] = call.route.split(' ');
  const filled = path.replaceAll(/\{(\w+)\}/g, (_, name: string) => call.params?.[name] ?? 'unknown-1');
  const url = new URL(`/v1${filled}`, base);
  for (const [name, value] of Object.entries(call.query ?? {})) url.searchParams.set(name, value);
  const body = call.lines ?? (call.body === undefined ? undefined : JSON.stringify(call.body));
  const response = await fetch(url, {
    method,
    headers: {
      ...(body === undefined
        ? {}
        : { 'content-type': call.lines === undefined ? 'application/json' : 'application/x-ndjson' }),
      ...call.headers,
    },
    ...(body === undefined ? {} : { body }),
  });
  return {
    status: response.status,
    type: (response.headers.get('content-type') ?? '').split(';')[0] ?? '',
    text: await response.text(),
  };
}

/** Ids and fences that requests of a scene need. */
export interface Scene {
  readonly run: (taskId: string) => { readonly run_id: string; readonly fence: number };
  readonly question: (taskId: string) => string;
}

/** Opens tasks in every state that a request can find. The clock stands when it is called. */
export async function openScene(ledger: Ledger, advance: (ms: number) => void): Promise<Scene> {
  const runs = new Map<string, { readonly run_id: string; readonly fence: number }>();
  const questions = new Map<string, string>();
  const create = (taskId: string, more: object = {}) =>
    ledger.tasks.create({ taskId, title: taskId, ...more });
  const claim = async (taskId: string, ttlMs = 3_600_000) => {
    const answer = await ledger.runs.claim({ taskId, holder: 'worker', ttlMs });
    if (answer.outcome !== 'claimed') throw new Error(`${taskId}: ${answer.reason}`);
    runs.set(taskId, answer);
    return { taskId, runId: answer.run_id, fence: answer.fence };
  };
  const ask = async (taskId: string) => {
    const held = await claim(taskId);
    const asked = await ledger.runs.ask({ ...held, question: 'Which?', options: ['A', 'B'] });
    if (asked.outcome === 'asked') questions.set(taskId, asked.question_id);
    return asked;
  };
  for (const id of ['ready-1', 'ready-2', 'ready-3', 'ready-4', 'ready-5', 'ready-6']) await create(id);
  for (const id of ['triage-1', 'triage-2']) await create(id, { initial: 'triage' });
  for (const id of ['blocked-1', 'blocked-2']) await create(id, { initial: 'blocked' });
  for (const id of HELD) {
    await create(id);
    await claim(id);
  }
  for (const id of ['expired-1', 'expired-2', 'lost-1']) {
    await create(id);
    await claim(id, 1_000);
  }
  for (const id of ['asked-1', 'asked-2']) {
    await create(id);
    await ask(id);
  }
  await ledger.questions.answer({ questionId: questions.get('asked-2') ?? '', option: 'A' });
  await create('done-1');
  await ledger.tasks.complete({ taskId: 'done-1', operator: 'ann', result: 'done' });
  await ledger.append([
    { type: 'run.started', run_id: 'delegate-1', task_id: 'done-1' },
    { type: 'run.start_requested', invocation_id: 'invocation-1', task_id: 'done-1' },
  ]);
  advance(60_000);
  return {
    run: (taskId) => runs.get(taskId) ?? { run_id: 'unknown-1', fence: 1 },
    question: (taskId) => questions.get(taskId) ?? 'unknown-1',
  };
}

const HELD: readonly string[] = [
  'held-complete',
  'held-fail',
  'held-block',
  'held-exited',
  'held-reclaim',
  'held-ask',
  'held-park',
  'held-finalize',
  'held-report',
];
