import { readStateFile, UPSTREAM_FILE } from '../state/state-folder.ts';

/** Where requests go. */
export interface Upstream {
  readonly host: string;
  readonly port: number;
}

/** What the `upstream` file says now, or why nobody can be reached by it. */
export type ToldUpstream = Upstream | { readonly fault: string };

/** A port alone is one of this host. */
const LOOPBACK = '127.0.0.1';

const MAX_PORT = 65_535;

/** Reads the `upstream` file, as it must be on every request. Never throws. */
export async function readUpstream(folder: string): Promise<ToldUpstream> {
  try {
    const text = await readStateFile(folder, UPSTREAM_FILE);
    if (text === null) return { fault: `there is no file ${UPSTREAM_FILE} in ${folder}` };
    return (
      parseUpstream(text) ?? {
        fault: `${UPSTREAM_FILE} says ${JSON.stringify(text)}, not a port or HOST:PORT`,
      }
    );
  } catch (error) {
    return { fault: `${UPSTREAM_FILE} can't be read: ${error instanceof Error ? error.message : error}` };
  }
}

/** `8082`, `node-b:8082`, `192.0.2.7:8082` or `[::1]:8082`; null for anything else. */
export function parseUpstream(text: string): Upstream | null {
  const [, ipv6, name, digits = ''] =
    /^(?:(?:\[([0-9a-fA-F:.]+)\]|([A-Za-z0-9._-]+)):)?(\d{1,5})$/.exec(text) ?? [];
  const port = Number(digits);
  if (digits === '' || port === 0 || port > MAX_PORT) return null;
  return { host: ipv6 ?? name ?? LOOPBACK, port };
}

/** The line of the `upstream` file for a node: the port alone where the node is on this host. */
export function upstreamLine({ host, port }: Upstream): string {
  if (host === LOOPBACK || host === 'localhost') return String(port);
  return host.includes(':') ? `[${host}]:${port}` : `${host}:${port}`;
}
