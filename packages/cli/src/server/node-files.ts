import { readFile } from 'node:fs/promises';
import { join } from 'node:path';

/** The name under which a node is primary as long as no role file says otherwise. */
const DEFAULT_PRIMARY = 'primary';

/**
 * What a node's role file says. `unknown` if it can't be read or says neither: then the node must not write, but
 * nobody has made it a replica either.
 */
export type ToldRole = 'primary' | 'replica' | 'unknown';

/** What the state folder says of a node. */
export interface NodeFiles {
  readonly role: ToldRole;
  /** The line of the fence; null if the node is not fenced. */
  readonly fenced: string | null;
}

/** Reads what the state folder says of a node, as it must be on every request. Never throws. */
export async function readNodeFiles(directory: string, name: string): Promise<NodeFiles> {
  const [role, fenced] = await Promise.all([
    readFile(join(directory, `${name}.role`), 'utf8').then(parseRole, (error: unknown) =>
      isMissing(error) ? defaultRole(name) : 'unknown',
    ),
    readFile(join(directory, `${name}.fenced`), 'utf8').then(
      (line) => line.trim(),
      (error: unknown) => (isMissing(error) ? null : error),
    ),
  ]);
  // A fence that may be there keeps the node from writing as one that is there does.
  if (fenced !== null && typeof fenced !== 'string') return { role: 'unknown', fenced: null };
  return { role, fenced };
}

function parseRole(text: string): ToldRole {
  const told = text.trim();
  return told === 'primary' || told === 'replica' ? told : 'unknown';
}

function defaultRole(name: string): ToldRole {
  return name === DEFAULT_PRIMARY ? 'primary' : 'replica';
}

function isMissing(error: unknown): boolean {
  return (error as NodeJS.ErrnoException).code === 'ENOENT';
}
