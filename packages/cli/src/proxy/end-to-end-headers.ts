/** Headers that speak of one connection only (RFC 9110, 7.6.1): the next one says its own. */
const OF_CONNECTION: ReadonlySet<string> = new Set([
  'connection',
  'keep-alive',
  'proxy-connection',
  'te',
  'trailer',
  'transfer-encoding',
  'upgrade',
]);

/**
 * The headers that are passed on, as they came: names in their own spelling, repeated ones repeated, in their order.
 * Left out are those of the connection, and those that the `Connection` header names.
 *
 * @param raw names and values in turn, as Node's `rawHeaders`.
 */
export function endToEndHeaders(raw: readonly string[]): string[] {
  const pairs = raw.flatMap((name, index) =>
    index % 2 === 0 ? [[name, raw[index + 1] ?? ''] as const] : [],
  );
  const named = new Set(
    pairs
      .filter(([name]) => name.toLowerCase() === 'connection')
      .flatMap(([, value]) => value.split(',').map((option) => option.trim().toLowerCase())),
  );
  // The length of a body is no option of a connection, whatever a sender says: without it two hosts would disagree
  // about where the request ends.
  named.delete('content-length');
  named.delete('host');
  return pairs
    .filter(([name]) => !(OF_CONNECTION.has(name.toLowerCase()) || named.has(name.toLowerCase())))
    .flat();
}
