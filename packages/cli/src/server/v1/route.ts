import type { Ledger, ManagedCommands } from '@custody/ledger';
import type { ContentfulStatusCode } from 'hono/utils/http-status';
import type { z } from 'zod';
import type { ServedNode } from '../served-node.ts';
import { checked } from './checked.ts';

/** What a route works on. */
export type V1Node = Pick<ServedNode, 'read' | 'write' | 'stopping'>;

/** An answer of a route: one document, its exact text, or JSON Lines as they come. */
export type Reply =
  | { readonly status?: ContentfulStatusCode; readonly value: object }
  | { readonly status?: ContentfulStatusCode; readonly text: string }
  | { readonly lines: AsyncIterable<string>; readonly mayBeSilent?: boolean };

/** A request as it came in; nothing of it is checked. */
interface Incoming {
  readonly params: Readonly<Record<string, string>>;
  readonly query: Readonly<Record<string, string | readonly string[]>>;
  /** The parsed JSON, or the text of JSON Lines; undefined if the route takes no body. */
  readonly body: unknown;
  readonly ledger: Ledger;
  /** Commands on managed tasks, carried out once if the request names its id. */
  readonly commands: ManagedCommands;
  /** Aborted when the client leaves, or the server stops. */
  readonly signal: AbortSignal;
}

/** A checked request. */
interface Call<Params, Query, Body> {
  readonly params: Params;
  readonly query: Query;
  readonly body: Body;
  readonly ledger: Ledger;
  readonly commands: ManagedCommands;
  readonly signal: AbortSignal;
}

/** One documented answer. */
export interface Answer {
  readonly description: string;
  readonly schema: z.ZodType;
  /** JSON Lines: the schema is that of one line. */
  readonly lines?: true;
}

/** What a route takes and gives, and what it does. */
export interface Definition<Params extends z.ZodType, Query extends z.ZodType, Body extends z.ZodType> {
  readonly method: 'get' | 'post' | 'put' | 'delete';
  /** Under `/v1`, with parameters as `{task_id}`. */
  readonly path: string;
  readonly tag: string;
  readonly summary: string;
  /** `command`: it writes, and takes a request id that makes it safe to ask again. */
  readonly use: 'read' | 'write' | 'command';
  readonly params?: Params;
  readonly query?: Query;
  readonly body?: Body;
  /** The body is JSON Lines; the schema is that of its whole text. */
  readonly bodyLines?: { readonly line: z.ZodType };
  readonly answers: Readonly<Record<number, Answer>>;
  handle(call: Call<z.output<Params>, z.output<Query>, z.output<Body>>): Promise<Reply>;
}

/** A route as it is mounted and documented. */
export interface Route extends Omit<Definition<z.ZodType, z.ZodType, z.ZodType>, 'handle'> {
  /** @throws UsageError naming the field of whatever is wrong with the request. */
  answer(incoming: Incoming): Promise<Reply>;
}

/** Makes a route that checks its request before it does anything. */
export function route<
  Params extends z.ZodType = z.ZodType,
  Query extends z.ZodType = z.ZodType,
  Body extends z.ZodType = z.ZodType,
>(definition: Definition<Params, Query, Body>): Route {
  const { handle, ...rest } = definition;
  return {
    ...rest,
    answer: async ({ params, query, body, ...with_ }) =>
      handle({
        ...with_,
        params: checked(definition.params, params, 'the path'),
        query: checked(definition.query, query, 'the query'),
        body: checked(definition.body, body, 'the body'),
      }),
  };
}
