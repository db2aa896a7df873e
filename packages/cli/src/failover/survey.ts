import type { EpochRecord } from '@custody/ledger';
import { parseUpstream, upstreamLine } from '../proxy/upstream.ts';
import type { NodeRole } from '../state/state-folder.ts';
import {
  failedFile,
  fencedFile,
  listNodes,
  readRole,
  readStateFile,
  UPSTREAM_FILE,
} from '../state/state-folder.ts';
import type { FailoverInput } from './failover-input.ts';
import type { NodeLook } from './look-at-node.ts';
import { lookAtNode } from './look-at-node.ts';

/** What the store says of its epoch. */
export interface EpochView {
  readonly epoch: number;
  /** How it began; null for an epoch that nobody raised. */
  readonly record: EpochRecord | null;
}

/** What the state folder says of a node. */
export interface NodeMarks {
  readonly name: string;
  readonly role: NodeRole | null;
  readonly isFailed: boolean;
  /** The line of its fence; null if it is not fenced. */
  readonly fenced: string | null;
}

/** Everything that a failover is judged by, at one moment. */
export interface Survey {
  readonly epoch: EpochView;
  /** What the `upstream` file says; null if there is none. */
  readonly upstream: string | null;
  readonly old: NodeMarks & { readonly look: NodeLook };
  readonly new: NodeMarks & { readonly look: NodeLook };
  /** The node behind the proxy, where it is neither of the two addresses; null otherwise. */
  readonly behindProxy: NodeLook | null;
  /** Nodes that are fenced for good. */
  readonly fenced: readonly NodeMarks[];
  /** Nodes whose role file says primary and that are not fenced. */
  readonly primaries: readonly string[];
}

/** The names that a failover begins with when nobody has given others. */
const FIRST_OLD = 'primary';
const FIRST_NEW = 'replica';

/**
 * Looks at both nodes, the state folder and the epoch. Changes nothing.
 *
 * @throws Error of the file system if the folder can't be read.
 */
export async function survey(input: FailoverInput, epoch: EpochView): Promise<Survey> {
  const { folder, oldUrl, newUrl } = input;
  const upstream = await readStateFile(folder, UPSTREAM_FILE);
  const [oldLook, newLook, behindProxy] = await Promise.all([
    lookAtNode(oldUrl),
    lookAtNode(newUrl),
    lookBehindProxy(input, upstream),
  ]);
  const names = nodeNames(input, newLook, epoch.record);
  const fenced = await Promise.all((await listNodes(folder, 'fenced')).map((node) => marksOf(folder, node)));
  const roles = await Promise.all((await listNodes(folder, 'role')).map((node) => marksOf(folder, node)));
  return {
    epoch,
    upstream,
    old: { ...(await marksOf(folder, names.old)), look: oldLook },
    new: { ...(await marksOf(folder, names.new)), look: newLook },
    behindProxy,
    fenced,
    primaries: roles
      .filter(({ role, fenced: line }) => role === 'primary' && line === null)
      .map(({ name }) => name),
  };
}

async function marksOf(folder: string, name: string): Promise<NodeMarks> {
  return {
    name,
    role: await readRole(folder, name),
    isFailed: (await readStateFile(folder, failedFile(name))) !== null,
    fenced: await readStateFile(folder, fencedFile(name)),
  };
}

/**
 * The standby says its own name. The old node can't be asked: it is the one that the newest failover gave the ledger
 * to, or, when that failover is run again, the one that it took the ledger from.
 */
function nodeNames(
  { oldNode, newNode }: FailoverInput,
  look: NodeLook,
  record: EpochRecord | null,
): { readonly old: string; readonly new: string } {
  const name = newNode ?? look.node ?? FIRST_NEW;
  const last = record?.failover ?? null;
  const holder = last === null ? FIRST_OLD : last.to_node === name ? last.from_node : last.to_node;
  return { old: oldNode ?? holder, new: name };
}

async function lookBehindProxy(
  { oldUrl, newUrl }: FailoverInput,
  upstream: string | null,
): Promise<NodeLook | null> {
  const place = upstream === null ? null : parseUpstream(upstream);
  if (place === null) return null;
  const line = upstreamLine(place);
  if (line === upstreamLine(placeOf(oldUrl)) || line === upstreamLine(placeOf(newUrl))) return null;
  const host = place.host.includes(':') ? `[${place.host}]` : place.host;
  return lookAtNode(new URL(`http://${host}:${place.port}`));
}

/** Host and port of a node's URL. */
export function placeOf({ hostname, port }: URL): { readonly host: string; readonly port: number } {
  return { host: hostname.replace(/^\[(.*)\]$/, '$1'), port: port === '' ? 80 : Number(port) };
}
