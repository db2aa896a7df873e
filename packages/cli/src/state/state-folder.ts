import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';

/** The file that says which node is behind the proxy: a port, or HOST:PORT. */
export const UPSTREAM_FILE = 'upstream';

/** The header of every answer in which a node names itself: so a failover is told what it talks to. */
export const NODE_HEADER = 'custody-node';

/** What a node does: it takes writes, or it waits to be promoted. */
export type NodeRole = 'primary' | 'replica';

/** The longest file that is read; each holds one line. */
const MAX_LENGTH = 4096;

/** The file that says a node's role. The node reads it on every request. */
export const roleFile = (node: string): string => `${node}.role`;

/** The file that marks a node as failed. It is kept, and may be empty. */
export const failedFile = (node: string): string => `${node}.failed`;

/** The file that says since when a node is fenced. It is kept: a fenced name never serves again. */
export const fencedFile = (node: string): string => `${node}.fenced`;

/**
 * The text of a file of the state folder without the white space around it; null if there is no such file.
 *
 * @throws Error of the file system if it is there and can't be read.
 */
export async function readStateFile(folder: string, name: string): Promise<string | null> {
  try {
    return (await readFile(join(folder, name), 'utf8')).slice(0, MAX_LENGTH).trim();
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'ENOENT') return null;
    throw error;
  }
}

/** The role that the folder gives to a node; null if it gives none, or something else. */
export async function readRole(folder: string, node: string): Promise<NodeRole | null> {
  const text = await readStateFile(folder, roleFile(node));
  return text === 'primary' || text === 'replica' ? text : null;
}

/** The nodes that have a file of this kind, in the order of their names. */
export async function listNodes(
  folder: string,
  kind: 'role' | 'failed' | 'fenced',
): Promise<readonly string[]> {
  const ending = `.${kind}`;
  const names = await readdir(folder);
  return names
    .filter((name) => name.endsWith(ending) && !name.startsWith('.'))
    .map((name) => name.slice(0, -ending.length))
    .sort();
}
