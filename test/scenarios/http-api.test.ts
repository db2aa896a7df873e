import { describe, expect, test } from 'vitest';
import { z } from 'zod';
import type { ApiAnswer, ApiCall } from '../support/api-calls.ts';
import { callApi, openScene } from '../support/api-calls.ts';
import { callsOf } from '../support/every-call.ts';
import { openApi } from '../support/open-api.ts';

interface Operation {
  readonly parameters: readonly { readonly name: string; readonly in: string }[];
  readonly responses: Readonly<
    Record<string, { readonly content: Readonly<Record<string, { readonly schema: object }>> }>
  >;
}

interface Document {
  readonly openapi: string;
  readonly paths: Readonly<Record<string, Readonly<Record<string, Operation>>>>;
  readonly components: { readonly schemas: Readonly<Record<string, object>> };
}

/** Every operation by `GET /tasks/{task_id}`. */
function operationsOf(document: Document): ReadonlyMap<string, Operation> {
  return new Map(
    Object.entries(document.paths).flatMap(([path, methods]) =>
      Object.entries(methods).map(
        ([method, operation]) => [`${method.toUpperCase()} ${path.replace('/v1', '')}`, operation] as const,
      ),
    ),
  );
}

/** Answers that a caller must be ready for besides those of every route. */
const TOLD = ['200', '201', '404', '409'];

/** In a sound ledger no task runs under no lease; the answer is that of the other commands on leases. */
const BROKEN_ONLY = 'POST /ports/leases/{task_id}/requeue 200';

describe('the API under /v1', () => {
  test('answers every request as its document says, and names no answer that can not be had', async () => {
    const { clock, ledger, url } = await openApi();
    const { text } = await callApi(url, { route: 'GET /openapi.json' });
    const document = JSON.parse(text) as Document;
    const operations = operationsOf(document);
    const scene = await openScene(ledger, (ms) => clock.advance(ms));
    const seen = new Map<string, Set<string>>();

    for (const call of callsOf(scene)) {
      const answer = await callApi(url, call);
      const operation = operations.get(call.route);
      if (operation === undefined) throw new Error(`${call.route} is not documented`);
      expectDocumented(document, { call, answer, operation });
      seen.set(call.route, (seen.get(call.route) ?? new Set()).add(String(answer.status)));
    }

    const missing = [...operations].flatMap(([route, { responses }]) =>
      TOLD.filter((status) => status in responses && seen.get(route)?.has(status) !== true).map(
        (status) => `${route} ${status}`,
      ),
    );
    expect(missing).toEqual([BROKEN_ONLY]);
  });
});

function expectDocumented(
  document: Document,
  { call, answer, operation }: { call: ApiCall; answer: ApiAnswer; operation: Operation },
): void {
  const where = `${call.route} ${JSON.stringify(call.body ?? call.query ?? {})}: ${answer.status} ${answer.text.slice(0, 400)}`;
  const response = operation.responses[String(answer.status)];
  expect(response, where).toBeDefined();
  const schema = response?.content[answer.type]?.schema;
  expect(schema, `${where} (${answer.type})`).toBeDefined();
  const text = JSON.stringify({ ...schema, $defs: document.components.schemas });
  const check = z.fromJSONSchema(JSON.parse(text.replaceAll('#/components/schemas/', '#/$defs/')) as never);
  const parts =
    answer.type === 'application/x-ndjson' ? answer.text.split('\n').filter(Boolean) : [answer.text];
  for (const part of parts) expect(check.safeParse(JSON.parse(part)), where).toMatchObject({ success: true });
}
