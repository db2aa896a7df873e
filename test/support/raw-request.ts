import { connect } from 'node:net';
import fc from 'fast-check';

/** A request as bytes, and how they reach the server. */
export interface RawRequest {
  readonly bytes: Buffer;
  /** Send them in two pieces, so that a parser must wait in the middle. */
  readonly cutAt: number;
  /** What was done to a well-formed request; for the report of a failure. */
  readonly what: string;
}

/** How long a server that says nothing is waited for: it waits for more of the request, and can't tell. In milliseconds. */
const SILENCE_MS = 100;

/** The status of each answer that a connection got until the server closed it. */
export async function send(
  port: number,
  { bytes, cutAt }: RawRequest,
  silenceMs = SILENCE_MS,
): Promise<readonly number[]> {
  const socket = connect({ port, host: '127.0.0.1', allowHalfOpen: true });
  const pieces: Buffer[] = [];
  // A server that has heard enough resets the connection; what it said before that counts.
  socket.on('error', () => undefined);
  const closed = new Promise<void>((resolve) => {
    socket.once('close', () => resolve());
  });
  socket.on('data', (piece: Buffer) => {
    pieces.push(piece);
    socket.end();
  });
  socket.once('end', () => socket.end());
  socket.setTimeout(silenceMs, () => socket.end());
  socket.write(bytes.subarray(0, cutAt), () => setImmediate(() => socket.write(bytes.subarray(cutAt))));
  await closed;
  return statusesIn(Buffer.concat(pieces).toString('latin1'));
}

/** Bodies of ours never hold a status line. */
function statusesIn(text: string): readonly number[] {
  return [...text.matchAll(/HTTP\/1\.1 (\d{3}) /g)].map(([, status]) => Number(status));
}

/** Ids that must be refused, as they stand in a request line. */
const badId = fc.oneof(
  fc.constantFrom(
    '..',
    '../r-1',
    '%2e%2e',
    '%2e%2e%2fr-1',
    '..%2fr-1',
    '%252e%252e%252fcustody.db',
    '....//r-1',
    'r-1/',
    'r-1%2f',
    '/r-1',
    'r-1%00',
    '%00',
    '%',
    '%2',
    '%zz',
    '%c0%af',
    '%ed%a0%80',
    'r-1%20',
    '%20r-1',
    'r-1%0d%0ax-evil:%201',
    '-r',
    '.r',
    '_r',
    'r*1',
    'caf%c3%a9',
    '%F0%9F%98%80',
    "r'1",
    'r;1',
    'r-1;drop',
    'x'.repeat(129),
  ),
  fc.string({ minLength: 1, maxLength: 40, unit: 'binary' }).map((text) => `~${encode(text)}`),
);

const method = fc.constantFrom(
  'GET',
  'PUT',
  'HEAD',
  'POST',
  'DELETE',
  'PATCH',
  'OPTIONS',
  'TRACE',
  'PROPFIND',
  'put',
  'FOO',
  'CONNECT',
  '',
);

const refusedPath = fc.oneof(
  badId.map((id) => `/records/${id}`),
  fc.constantFrom(
    '/',
    '*',
    '',
    '/health',
    '/role',
    '/metrics',
    '/records',
    '/records/',
    '/RECORDS/r-1',
    '//records/r-1',
    '/records//r-1',
    '/./x',
    '/%72ecords/',
    'http://x/health',
    'http://[',
    '/health?x=%zz',
    '/role#x',
    '/\u00ff',
    '/records/r-1\u0000',
    '/ records/r-1',
  ),
  fc.webPath().map((path) => `/x${path}`),
);

const header = fc.oneof(
  fc.constantFrom(
    'content-length: 5',
    'content-length: -1',
    'content-length: 1e3',
    'content-length: 99999999999999999999',
    'content-length: 5, 6',
    'content-length: 5\r\ncontent-length: 6',
    'content-length: 5\r\ntransfer-encoding: chunked',
    'transfer-encoding: chunked',
    'transfer-encoding: gzip, chunked',
    'transfer-encoding: identity',
    'expect: 100-continue',
    'expect: something',
    'upgrade: websocket\r\nconnection: upgrade',
    'connection: close',
    'content-encoding: gzip',
    'range: bytes=0-1',
    'if-none-match: *',
    'host: [',
    'host: a b',
    'host: x\r\nhost: y',
    'x-http-method-override: DELETE',
    'authorization: Bearer',
    'no colon',
    ': no name',
    ' folded: x',
    'bad name: x',
    'x: \u0000',
    'x: a\rb',
  ),
  fc
    .tuple(fc.string({ maxLength: 12 }), fc.string({ maxLength: 30, unit: 'binary' }))
    .map(([name, value]) => `${name}: ${value}`),
  fc
    .integer({ min: 1, max: 3_000 })
    .map((count) => Array.from({ length: count }, (_, n) => `x-${n}: y`).join('\r\n')),
  fc.integer({ min: 1, max: 20_000 }).map((length) => `x-long: ${'y'.repeat(length)}`),
);

const version = fc.constantFrom(
  ...Array.from({ length: 12 }, () => 'HTTP/1.1'),
  'HTTP/1.0',
  'HTTP/0.9',
  'HTTP/2.0',
  'HTTP/9.9',
  'http/1.1',
  'HTTP/1.1 x',
  '',
);

/** Most requests have none of them, so that they come past the parser. */
const headers = fc.oneof(
  { weight: 2, arbitrary: fc.constant<readonly string[]>([]) },
  { weight: 1, arbitrary: fc.array(header, { minLength: 1, maxLength: 4 }) },
);

const notUtf8 = fc
  .tuple(
    fc.string({ maxLength: 30 }),
    fc.constantFrom([0x80], [0xc3], [0xc0, 0xaf], [0xed, 0xa0, 0x80], [0xff]),
  )
  .map(([before, bad]) => Buffer.concat([Buffer.from(before), Buffer.from(bad), Buffer.from('a')]));

/** A PUT of the record that must stay, which is wrong in one way. */
const spoiledPut = fc.oneof(
  notUtf8.map((body) => put('r-1', body, 'a body that is not UTF-8')),
  fc.tuple(badId, fc.string({ maxLength: 20 })).map(([id, body]) => put(id, Buffer.from(body), 'a wrong id')),
  fc
    .integer({ min: 1, max: 400 })
    .map((more) => put('r-1', Buffer.alloc(MAX_BODY + more, 'z'), 'a body over the limit')),
  fc
    .integer({ min: 1, max: 50 })
    .map((missing) =>
      wire(
        `PUT /records/r-1 HTTP/1.1\r\nhost: x\r\ncontent-length: ${5 + missing}\r\n\r\n`,
        'short',
        'a body that ends early',
      ),
    ),
  fc
    .constantFrom(
      'zz\r\nshort\r\n0\r\n\r\n',
      '5\r\nsho',
      '-5\r\nshort\r\n0\r\n\r\n',
      '5\r\nshortX\r\n0\r\n\r\n',
      'ffffffffffffffffff\r\nshort',
    )
    .map((body) =>
      wire(
        'PUT /records/r-1 HTTP/1.1\r\nhost: x\r\ntransfer-encoding: chunked\r\n\r\n',
        body,
        'broken chunks',
      ),
    ),
);

/** Paths of the ledger's own API that take a document. */
const documentPath = fc.constantFrom(
  '/v1/events',
  '/v1/events?atomic=maybe',
  '/v1/claims',
  '/v1/tasks',
  '/v1/tasks/t-1/complete',
  '/v1/tasks/%2e%2e/link',
  '/v1/runs/r-1/heartbeat',
  '/v1/runs/r%001/submit',
  '/v1/questions/q-1/answer',
  '/v1/ports/events',
  '/v1/ports/rows',
  '/v1/ports/state/__proto__',
  '/v1/nothing',
);

/** Documents that say nothing that could be done. */
const uselessDocument = fc.oneof(
  fc.json(),
  fc.string({ maxLength: 40 }).map((text) => `{"holder":${text}`),
  fc.constantFrom(
    '',
    '{',
    '[[[[',
    'null',
    '{"__proto__":{"x":1}}',
    '{"type":"x.a"',
    `${'['.repeat(900)}`,
    '{"a":1e999}',
    '"\\ud800"',
    '{"task_id":9007199254740993}',
  ),
  notUtf8,
);

/** A request to the ledger's own API that asks for nothing that could be done. */
const uselessCall = fc
  .tuple(fc.constantFrom('POST', 'PUT', 'PATCH', 'DELETE'), documentPath, uselessDocument, headers)
  .map(([verb, path, body, lines]) => {
    const length = `content-length: ${Buffer.from(body).length}`;
    const head = [
      `${verb} ${path} HTTP/1.1`,
      'host: x',
      'content-type: application/json',
      length,
      ...lines,
      '',
      '',
    ];
    return wire(head.join('\r\n'), body, 'a useless call');
  });

/** The largest body that the servers of these requests take. */
export const MAX_BODY = 2_000;

/** Requests that are wrong in every way that we know; none may change anything. */
export const badRequest: fc.Arbitrary<RawRequest> = fc
  .oneof(
    { weight: 4, arbitrary: spoiledPut },
    { weight: 4, arbitrary: uselessCall },
    {
      weight: 4,
      arbitrary: fc
        .tuple(method, refusedPath, version, headers)
        .map(([verb, path, http, lines]) =>
          wire(
            [`${verb} ${path} ${http}`, 'host: x', ...lines, '', ''].join('\r\n'),
            'short',
            'another request',
          ),
        ),
    },
    {
      weight: 2,
      arbitrary: fc
        .tuple(fc.constantFrom('GET', 'HEAD', 'DELETE', 'POST', 'PATCH'), headers)
        .map(([verb, lines]) =>
          wire(
            [`${verb} /records/r-1 HTTP/1.1`, 'host: x', ...lines, '', ''].join('\r\n'),
            'short',
            'headers of all kinds',
          ),
        ),
    },
    {
      weight: 2,
      arbitrary: fc
        .uint8Array({ minLength: 1, maxLength: 400 })
        .map((bytes) => ({ bytes: Buffer.from(bytes), what: 'noise' })),
    },
    {
      weight: 2,
      // Bytes of a good GET, some replaced: it can become anything but a PUT.
      arbitrary: fc
        .array(fc.tuple(fc.nat(60), fc.nat(255)), { minLength: 1, maxLength: 4 })
        .map((changes) => {
          const bytes = Buffer.from('GET /records/r-1 HTTP/1.1\r\nhost: localhost\r\naccept: */*\r\n\r\n');
          for (const [at, value] of changes) bytes[Math.min(at + 3, bytes.length - 1)] = value;
          return { bytes, what: 'a mutated GET' };
        }),
    },
  )
  .chain((request) => fc.nat(request.bytes.length).map((cutAt) => ({ ...request, cutAt })));

function put(id: string, body: Buffer, what: string): Omit<RawRequest, 'cutAt'> {
  return wire(`PUT /records/${id} HTTP/1.1\r\nhost: x\r\ncontent-length: ${body.length}\r\n\r\n`, body, what);
}

function wire(head: string, body: string | Buffer, what: string): Omit<RawRequest, 'cutAt'> {
  return { bytes: Buffer.concat([Buffer.from(head, 'latin1'), Buffer.from(body)]), what };
}

function encode(text: string): string {
  return [...Buffer.from(text, 'utf8')].map((byte) => `%${byte.toString(16).padStart(2, '0')}`).join('');
}
