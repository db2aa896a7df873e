import { z } from 'zod';
import type { Answer, Route } from './route.ts';
import { ErrorBody, RefusalBody } from './schemas/answers.ts';

/** A JSON Schema, or another part of the document. */
type Part = Readonly<Record<string, unknown>>;

const JSON_TYPE = 'application/json';
const LINES_TYPE = 'application/x-ndjson';

/** What every route may answer besides what it says. */
const FAILURES: Readonly<Record<number, string>> = {
  400: 'The request is wrong; `error.field` says where.',
  413: 'The body, or an event, is too large.',
  503: 'Busy (try again), or this node takes no writes.',
};

/** Describes routes as an OpenAPI 3.1 document; every schema is the one that checks the request. */
export function openApiDocument(routes: readonly Route[]): Part {
  const paths: Record<string, Record<string, Part>> = {};
  for (const route of routes) {
    const path = `/v1${route.path}`;
    paths[path] = { ...paths[path], [route.method]: operation(route) };
  }
  return {
    openapi: '3.1.0',
    info: {
      title: 'custody',
      version: '1',
      description: "The ledger's own API. Answers have the shapes of docs/cli-json.md.",
      license: { name: 'MIT' },
    },
    servers: [{ url: '/' }],
    tags: [...new Set(routes.map((route) => route.tag))].map((name) => ({ name })),
    paths,
    components: {
      schemas: { Error: schemaOf(ErrorBody, 'output'), Refusal: schemaOf(RefusalBody, 'output') },
      securitySchemes: { token: { type: 'http', scheme: 'bearer' } },
    },
    security: [{}, { token: [] }],
  };
}

function operation(route: Route): Part {
  const failures = Object.entries(FAILURES)
    .filter(([status]) => !(status in route.answers) && (status !== '413' || route.body !== undefined))
    .map(([status, description]) => [status, failure(description)]);
  return {
    operationId: operationId(route),
    summary: route.summary,
    tags: [route.tag],
    parameters: [
      ...parameters(route.params, 'path'),
      ...parameters(route.query, 'query'),
      ...(route.use === 'command' ? [REQUEST_ID] : []),
    ],
    ...(route.body === undefined ? {} : { requestBody: { required: true, content: requestContent(route) } }),
    responses: {
      ...Object.fromEntries(
        Object.entries(route.answers).map(([status, answer]) => [status, toPart(answer)]),
      ),
      ...Object.fromEntries(failures),
    },
  };
}

/** A name for programs that make clients: `post_runs_run_id_complete`. */
function operationId({ method, path }: Route): string {
  return `${method}_${path.replaceAll(/\W+/g, '_').replaceAll(/^_|_$/g, '')}`;
}

const REQUEST_ID: Part = {
  name: 'Idempotency-Key',
  in: 'header',
  required: false,
  description:
    'An id of this request, such as a UUID. Made again with the same id, it is carried out once, and answers what is the case now.',
  schema: { type: 'string', pattern: '^[A-Za-z0-9][A-Za-z0-9_.:-]{0,127}$' },
};

function parameters(schema: z.ZodType | undefined, place: 'path' | 'query'): readonly Part[] {
  if (schema === undefined) return [];
  const { properties = {}, required = [] } = schemaOf(schema, 'input') as {
    readonly properties?: Readonly<Record<string, Part>>;
    readonly required?: readonly string[];
  };
  return Object.entries(properties).map(([name, of]) => ({
    name,
    in: place,
    required: place === 'path' || required.includes(name),
    schema: of,
  }));
}

function requestContent(route: Route): Part {
  const lines =
    route.bodyLines === undefined
      ? {}
      : { [LINES_TYPE]: { schema: schemaOf(route.bodyLines.line, 'input') } };
  const document = jsonPart(route.body);
  return { ...(document === null ? {} : { [JSON_TYPE]: { schema: document } }), ...lines };
}

/** What a body is as JSON; null for a route that takes JSON Lines only. A text is JSON Lines. */
function jsonPart(body: z.ZodType | undefined): Part | null {
  if (body === undefined) return null;
  const schema = schemaOf(body, 'input');
  const options = (schema['anyOf'] as readonly Part[] | undefined) ?? [schema];
  const documents = options.filter((option) => option['type'] !== 'string');
  if (documents.length === options.length) return schema;
  return documents[0] ?? null;
}

function toPart({ description, schema, lines }: Answer): Part {
  return {
    description,
    content: { [lines === true ? LINES_TYPE : JSON_TYPE]: { schema: schemaOf(schema, 'output') } },
  };
}

function failure(description: string): Part {
  const either = ['Error', 'Refusal'].map((name) => ({ $ref: `#/components/schemas/${name}` }));
  return { description, content: { [JSON_TYPE]: { schema: { anyOf: either } } } };
}

function schemaOf(schema: z.ZodType, io: 'input' | 'output'): Part {
  const { $schema: _, ...part } = z.toJSONSchema(schema, {
    target: 'draft-2020-12',
    io,
    unrepresentable: 'any',
    // Fields may be added to answers.
    override: ({ jsonSchema }) => {
      if (io === 'output' && jsonSchema.additionalProperties === false)
        delete jsonSchema.additionalProperties;
    },
  });
  return part;
}
