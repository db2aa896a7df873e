import type { JsonObject, RunRecord } from '@custody/ledger';
import { factOf, isId, isJsonObject } from '@custody/ledger';
import { z } from 'zod';
import type { Submission } from '../core/submission.ts';
import { isEndedState } from '../core/terminal-detail.ts';
import type { CancelAnswer, RunGateway, RunLookup, SubmitAnswer } from '../ports/run-gateway.ts';
import { readBoundedJson } from './bounded-json.ts';

/** Where an executor is reached, and how its answers are read. */
export interface HttpGatewayOptions {
  /**
   * The URL of one run, with placeholders: `{run_id}`, `{task_id}`, `{project_id}` and every text fact of the run's
   * start, such as `{route}`. `GET` of it answers `{"state": ...}` with the fields of `run.settled` beside it.
   */
  readonly runUrl: string;
  /** `POST {"reason": ...}` asks for a stop; `{"accepted": false}` in the answer is a refusal. @default `<runUrl>/cancel` */
  readonly cancelUrl?: string;
  /**
   * `POST` of a stored body starts a run; the header `Idempotency-Key` carries the invocation id, and the same key
   * must give the same run. Placeholders: the facts of the request. Absent: nothing is ever started through here.
   */
  readonly startUrl?: string;
  readonly headers?: Readonly<Record<string, string>>;
  /** From the request to the last byte of the answer, in milliseconds. @default 10000 */
  readonly timeoutMs?: number;
  /** The largest answer that is read, in bytes. @default 1048576 */
  readonly maxBodyBytes?: number;
  /** For an executor that answers otherwise: its body of a run as a lookup. What it throws is `unknown`. */
  readonly readRun?: (body: JsonObject, run: RunRecord) => RunLookup;
}

const detailSchema = z.object({
  cost_usd: z.number().nullable().default(null),
  cost_final: z.boolean().optional(),
  spend_disclosed: z.boolean().optional(),
  spend_estimated: z.boolean().optional(),
  model: z.string().optional(),
  credential_profile_id: z.string().optional(),
  access_profile: z.string().optional(),
  outcome_reason: z.string().optional(),
});

/** An answer: its status, and its body unless the status alone says everything. */
interface Answer {
  readonly status: number;
  readonly body: JsonObject;
}

type Asked =
  | { readonly outcome: 'answered'; readonly answer: Answer }
  | { readonly outcome: 'unknown'; readonly reason: string };

/**
 * The way to an executor that speaks HTTP.
 *
 * Status 404, and only 404, means absent. A redirect is not followed, for a 404 at its end would speak for another
 * resource. No answer, a late one, one that is too large, that is no JSON or names no state: unknown.
 */
export function httpGateway(options: HttpGatewayOptions): RunGateway {
  const ask = asker(options);
  return {
    lookup: async (run) => {
      const url = fill(options.runUrl, factsOfRun(run));
      if (url === null) return unknown(`the run's facts do not fill ${options.runUrl}`);
      const asked = await ask(url, { method: 'GET' });
      if (asked.outcome === 'unknown') return asked;
      if (asked.answer.status === 404) return { outcome: 'absent' };
      return isSuccess(asked.answer)
        ? readLookup(options, asked.answer.body, run)
        : unknown(`HTTP ${asked.answer.status}`);
    },
    cancel: async (run, reason) => {
      const template = options.cancelUrl ?? `${options.runUrl}/cancel`;
      const url = fill(template, factsOfRun(run));
      if (url === null) return unknown(`the run's facts do not fill ${template}`);
      const asked = await ask(url, { method: 'POST', body: { reason } });
      return asked.outcome === 'unknown' ? asked : readCancel(asked.answer);
    },
    resubmit: async (submission) => {
      if (options.startUrl === undefined) return unknown('this gateway has no startUrl');
      const url = fill(
        options.startUrl,
        textsOf({
          ...submission.facts,
          task_id: submission.task_id,
          invocation_id: submission.invocation_id,
        }),
      );
      if (url === null) return unknown(`the request's facts do not fill ${options.startUrl}`);
      const asked = await ask(url, {
        method: 'POST',
        body: submission.request,
        key: submission.invocation_id,
      });
      return asked.outcome === 'unknown' ? asked : readSubmit(asked.answer);
    },
  };
}

interface Question {
  readonly method: 'GET' | 'POST';
  readonly body?: JsonObject;
  readonly key?: Submission['invocation_id'];
}

const DEFAULT_TIMEOUT_MS = 10_000;
const DEFAULT_MAX_BODY_BYTES = 1_048_576;

function asker(options: HttpGatewayOptions): (url: string, question: Question) => Promise<Asked> {
  return async (url, { method, body, key }) => {
    try {
      const response = await fetch(url, {
        method,
        redirect: 'manual',
        signal: AbortSignal.timeout(options.timeoutMs ?? DEFAULT_TIMEOUT_MS),
        headers: {
          accept: 'application/json',
          ...options.headers,
          ...(body === undefined ? {} : { 'content-type': 'application/json' }),
          ...(key === undefined ? {} : { 'idempotency-key': key }),
        },
        ...(body === undefined ? {} : { body: JSON.stringify(body) }),
      });
      return {
        outcome: 'answered',
        answer: { status: response.status, body: await readBody(response, options) },
      };
    } catch (error) {
      return { outcome: 'unknown', reason: reasonOf(error) };
    }
  };
}

/** The body of a success must be readable; that of a refusal only decorates its status. */
async function readBody(response: Response, options: HttpGatewayOptions): Promise<JsonObject> {
  const maxBytes = options.maxBodyBytes ?? DEFAULT_MAX_BODY_BYTES;
  if (response.ok) {
    // An answer without content: taken, and nothing said.
    if (response.status === 204) return {};
    const body = await readBoundedJson(response, maxBytes);
    return isJsonObject(body) ? body : {};
  }
  try {
    const body = await readBoundedJson(response, maxBytes);
    return isJsonObject(body) ? body : {};
  } catch {
    return {};
  }
}

function reasonOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  const cause = error.cause instanceof Error ? `: ${error.cause.message}` : '';
  return `${error.name}: ${error.message}${cause}`;
}

function unknown(reason: string): { readonly outcome: 'unknown'; readonly reason: string } {
  return { outcome: 'unknown', reason };
}

function isSuccess(answer: Answer): boolean {
  return answer.status >= 200 && answer.status < 300;
}

function readLookup(options: HttpGatewayOptions, body: JsonObject, run: RunRecord): RunLookup {
  if (options.readRun !== undefined) {
    try {
      return options.readRun(body, run);
    } catch (error) {
      return unknown(reasonOf(error));
    }
  }
  const state = body['state'];
  if (typeof state !== 'string' || state === '') return unknown('the answer names no state');
  if (!isEndedState(state)) return { outcome: 'live', state };
  const detail = detailSchema.safeParse(body);
  if (!detail.success)
    return unknown(
      `the answer's ${detail.error.issues[0]?.path.join('.') ?? 'body'} is not what run.settled takes`,
    );
  return { outcome: 'terminal', detail: withoutUndefined({ state, ...detail.data }) };
}

/** The answer as if absent fields had never been named. */
function withoutUndefined<Value extends object>(
  value: { readonly [Key in keyof Value]: Value[Key] | undefined },
): Value {
  return Object.fromEntries(Object.entries(value).filter(([, item]) => item !== undefined)) as Value;
}

function readCancel(answer: Answer): CancelAnswer {
  const status = textField(answer.body, 'status');
  const said = status === '' ? {} : { status };
  if (answer.status === 404) return { outcome: 'absent' };
  if (isSuccess(answer))
    return { outcome: answer.body['accepted'] === false ? 'rejected' : 'accepted', ...said };
  if (answer.status >= 400 && answer.status < 500)
    return { outcome: 'rejected', ...said, reason: refusalCode(answer) };
  return unknown(`HTTP ${answer.status}`);
}

function readSubmit(answer: Answer): SubmitAnswer {
  if (answer.status >= 400 && answer.status < 500) {
    const reason = textField(answer.body, 'message');
    return {
      outcome: 'refused',
      code: refusalCode(answer),
      status: answer.status,
      ...(reason === '' ? {} : { reason }),
    };
  }
  if (!isSuccess(answer)) return unknown(`HTTP ${answer.status}`);
  const runId = answer.body['run_id'] ?? answer.body['runId'] ?? answer.body['jobId'];
  if (runId === undefined || runId === null || runId === '') return { outcome: 'pending' };
  if (!isId(runId)) return unknown(`the answer's run id is none: ${JSON.stringify(runId).slice(0, 200)}`);
  const facts = answer.body['facts'];
  return { outcome: 'run', run_id: runId, ...(isJsonObject(facts) ? { facts } : {}) };
}

function refusalCode(answer: Answer): string {
  return textField(answer.body, 'code') || `http_${answer.status}`;
}

function textField(body: JsonObject, field: string): string {
  const value = body[field];
  return typeof value === 'string' ? value : '';
}

function factsOfRun(run: RunRecord): ReadonlyMap<string, string> {
  const facts = Object.keys(run.facts).map((name): [string, string] => [name, factOf(run, name)]);
  return new Map([
    ...facts,
    ['run_id', run.run_id],
    ['task_id', run.task_id],
    ['project_id', run.project_id],
  ]);
}

function textsOf(facts: JsonObject): ReadonlyMap<string, string> {
  return new Map(
    Object.entries(facts).flatMap(([name, value]): [string, string][] =>
      typeof value === 'string' ? [[name, value]] : [],
    ),
  );
}

/**
 * The URL with its placeholders filled; null if a fact is missing or would change the path. A URL with a hole names
 * another resource, and its 404 would close a live run.
 */
function fill(template: string, facts: ReadonlyMap<string, string>): string | null {
  const placeholder = /\{(\w+)\}/g;
  const names = [...template.matchAll(placeholder)].map(([, name]) => name ?? '');
  if (names.some((name) => ['', '.', '..'].includes(facts.get(name) ?? ''))) return null;
  return template.replaceAll(placeholder, (_match, name: string) =>
    encodeURIComponent(facts.get(name) ?? ''),
  );
}
