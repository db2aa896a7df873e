import { describe, expect, test } from 'vitest';
import { endToEndHeaders } from '../../../packages/cli/src/proxy/end-to-end-headers.ts';
import { parseUpstream, upstreamLine } from '../../../packages/cli/src/proxy/upstream.ts';
import { epochIn, fencedLine } from '../../../packages/cli/src/state/node-fence.ts';

describe('the upstream line', () => {
  test.each([
    ['8082', { host: '127.0.0.1', port: 8082 }],
    ['node-b:8082', { host: 'node-b', port: 8082 }],
    ['192.0.2.7:80', { host: '192.0.2.7', port: 80 }],
    ['[::1]:8082', { host: '::1', port: 8082 }],
  ])('%s is a place, and its line says the same place', (text, place) => {
    expect(parseUpstream(text)).toEqual(place);
    expect(upstreamLine(place)).toBe(text);
  });

  test.each([
    '',
    '0',
    '65536',
    '-1',
    '8082 ',
    'host',
    ':80',
    'a b:80',
    'http://h:80',
    '::1:80',
    '[::1]',
    '8e3',
    '1\n2',
  ])('%j is none', (text) => {
    expect(parseUpstream(text)).toBeNull();
  });

  test('a node of this host is named by its port alone', () => {
    expect(upstreamLine({ host: 'localhost', port: 8082 })).toBe('8082');
  });
});

describe('headers that are passed on', () => {
  test('keep their names, their order and their repetition', () => {
    const headers = ['X-B', '1', 'x-a', '2', 'X-B', '3', 'Content-Length', '0'];
    expect(endToEndHeaders(headers)).toEqual(headers);
  });

  test('are neither of the connection nor named by it', () => {
    expect(
      endToEndHeaders([
        ...['Connection', 'close, X-One', 'X-One', '1', 'Keep-Alive', 'x', 'TE', 'x', 'Trailer', 'x'],
        ...[
          'Transfer-Encoding',
          'chunked',
          'Upgrade',
          'x',
          'Proxy-Connection',
          'x',
          'connection',
          ' x-two ',
          'x-TWO',
          '2',
          'X',
          'y',
        ],
      ]),
    ).toEqual(['X', 'y']);
  });

  test('a sender can not have the length or the host left out', () => {
    const headers = ['Content-Length', '5', 'Host', 'h'];
    expect(endToEndHeaders(['Connection', 'content-length, host', ...headers])).toEqual(headers);
  });
});

test('the line of a fence names the node, the epoch and the time, and its epoch can be read', () => {
  const line = fencedLine('primary', 2, '2026-12-01T00:00:00.000Z');

  expect(line).toBe('primary fenced at epoch 2 since 2026-12-01T00:00:00.000Z');
  expect(epochIn(line)).toBe(2);
  expect(epochIn('fenced by hand')).toBeNull();
});
