import { usageError } from '../errors.ts';

// Parsers of the options of a server, as commander calls them.

/** The largest limit for a body, in bytes: a body is held in memory. */
const MAX_LIMIT = 256 * 1024 * 1024;

/** An address as `HOST:PORT`, an IPv6 host in brackets. */
export function listenAddress(value: string): { readonly host: string; readonly port: number } {
  const [, v6, name, port = ''] = /^(?:\[([0-9A-Fa-f:.]+)\]|([^:[\]\s/]+)):(\d{1,5})$/.exec(value) ?? [];
  const host = v6 ?? name;
  if (host !== undefined && Number(port) <= 65_535) return { host, port: Number(port) };
  throw usageError(
    `--listen takes HOST:PORT, not ${JSON.stringify(value)}`,
    'For example --listen 127.0.0.1:8081, or [::1]:8081.',
    { option: '--listen', value },
  );
}

/** A name that can be part of a file name. */
export function nodeName(option: string): (value: string) => string {
  return (value) => {
    if (/^[A-Za-z0-9][A-Za-z0-9_-]{0,63}$/.test(value)) return value;
    throw usageError(
      `${option} takes a name of letters, digits, _ and -, not ${JSON.stringify(value)}`,
      `For example ${option} primary.`,
      { option, value },
    );
  };
}

/** Where a node answers: `http://HOST:PORT`, and nothing after it. */
export function nodeUrl(option: string): (value: string) => URL {
  return (value) => {
    const url = URL.canParse(value) ? new URL(value) : null;
    if (url?.protocol === 'http:' && url.href === `${url.origin}/`) return url;
    throw usageError(
      `${option} takes http://HOST:PORT, not ${JSON.stringify(value)}`,
      `For example ${option} http://127.0.0.1:8081.`,
      { option, value },
    );
  };
}

/** A number of bytes, from 1 to 256 MiB. */
export function sizeLimit(option: string): (value: string) => number {
  return (value) => {
    const bytes = /^\d{1,9}$/.test(value) ? Number(value) : Number.NaN;
    if (bytes >= 1 && bytes <= MAX_LIMIT) return bytes;
    throw usageError(
      `${option} takes a number of bytes up to ${MAX_LIMIT}, not ${JSON.stringify(value)}`,
      `For example ${option} 1048576.`,
      { option, value },
    );
  };
}

/** A count from 1. */
export function atLeastOne(option: string): (value: string) => number {
  return (value) => {
    const count = /^\d{1,9}$/.test(value) ? Number(value) : 0;
    if (count > 0) return count;
    throw usageError(
      `${option} takes a whole number from 1, not ${JSON.stringify(value)}`,
      `For example ${option} 1000.`,
      { option, value },
    );
  };
}
