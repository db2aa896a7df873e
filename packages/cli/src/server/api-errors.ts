import type { RefusalReason } from '@custody/ledger';
import type { Context } from 'hono';
import { HTTPException } from 'hono/http-exception';
import type { ContentfulStatusCode } from 'hono/utils/http-status';
import { EXIT } from '../exit-code.ts';
import type { ErrorReport } from '../output/error-report.ts';
import { errorJson, isPlanned, toErrorReport } from '../output/error-report.ts';

/** Errors that have a status other than their exit code's. */
const STATUS_BY_CODE: Readonly<Record<string, ContentfulStatusCode>> = {
  event_too_large: 413,
  body_too_large: 413,
  not_found: 404,
  unauthorized: 401,
  forbidden: 403,
  method_not_allowed: 405,
  too_many_requests: 429,
  // This node can't, another one or a later try can.
  stale_epoch: 503,
  read_only: 503,
};

const STATUS_BY_EXIT: Readonly<Record<ErrorReport['exitCode'], ContentfulStatusCode>> = {
  [EXIT.done]: 200,
  [EXIT.refused]: 409,
  [EXIT.usage]: 400,
  [EXIT.store]: 503,
  [EXIT.busy]: 503,
};

/** Facts that are about this host, and no client's business. */
const KEPT_HERE: ReadonlySet<string> = new Set(['path', 'sqlite_code', 'url', 'store']);

/** An answer that is no result: its status, and its body as `docs/cli-json.md` promises. */
export interface ApiFailure {
  readonly status: ContentfulStatusCode;
  /** One JSON document. */
  readonly body: string;
  /** Something is wrong here, not with the request: an operator should know. */
  readonly isFault: boolean;
}

/** What a client is told of anything that was thrown. A fault of the server or its store is told without details. */
export function toApiFailure(error: unknown): ApiFailure {
  if (error instanceof HTTPException) return failure(fromStatus(error));
  const report = toErrorReport(error);
  if (!isPlanned(error)) return failure({ ...report, message: 'the server failed', hint: LOG_HINT }, 500);
  if (report.exitCode === EXIT.store || report.exitCode === EXIT.busy) return failure(unusable(report));
  return failure(report);
}

/** The status of a refusal that a command answered: 404 for what is not there, 503 for a node that lost its epoch. */
export function refusalStatus(reason: RefusalReason): ContentfulStatusCode {
  if (reason === 'stale_epoch') return 503;
  return reason.startsWith('no_such_') ? 404 : 409;
}

/** Answers what was thrown, for `onError` of an API. */
export function answerFailure(context: Context, error: unknown): Response {
  const { status, body } = toApiFailure(error);
  const retry: Record<string, string> = status === 503 ? { 'retry-after': '1' } : {};
  return context.body(body, status, { 'content-type': 'application/json', ...retry });
}

/** The status of an error that the server itself found in a request. */
export function statusOfCode(code: string): ContentfulStatusCode {
  return STATUS_BY_CODE[code] ?? 400;
}

/** Answers that something is wrong with a request, in the same form. */
export function answerError(
  context: Context,
  code: string,
  { message, hint, facts = {} }: { message: string; hint: string; facts?: Readonly<Record<string, unknown>> },
): Response {
  const body = JSON.stringify({ error: { ...facts, code, message, hint } });
  return context.body(body, statusOfCode(code), { 'content-type': 'application/json' });
}

const LOG_HINT = "This is a fault of the server; the server's log says more.";

function failure(report: ErrorReport, status?: ContentfulStatusCode): ApiFailure {
  const facts = Object.fromEntries(Object.entries(report.facts).filter(([name]) => !KEPT_HERE.has(name)));
  return {
    status: status ?? STATUS_BY_CODE[report.code] ?? STATUS_BY_EXIT[report.exitCode],
    body: errorJson({ ...report, facts }),
    isFault: report.exitCode === EXIT.store,
  };
}

/** A store that can't be used now; which file and why is in the log. */
function unusable(report: ErrorReport): ErrorReport {
  const isBusy = report.exitCode === EXIT.busy;
  return {
    ...report,
    facts: {},
    message: isBusy ? 'the ledger is busy' : "the ledger can't be used",
    hint: isBusy ? 'Try again.' : "Try again; the server's log says more.",
  };
}

/** What hono or a part of it refuses on its own. */
function fromStatus({ status, message }: HTTPException): ErrorReport {
  const code = Object.entries(STATUS_BY_CODE).find(([, known]) => known === status)?.[0] ?? 'invalid_request';
  return { code, message, hint: 'Correct the request and send it again.', facts: {}, exitCode: EXIT.usage };
}
