import { stat } from 'node:fs/promises';
import { fencedFile, readStateFile, roleFile } from '../state/state-folder.ts';

/** The name under which a node is primary as long as no role file says otherwise. */
const DEFAULT_PRIMARY = 'primary';

/** What the state folder says of a node. */
export interface NodeFiles {
  /**
   * `unknown` if the folder can't be read or says neither: then the node must not write, but nobody has made it a
   * replica either.
   */
  readonly role: 'primary' | 'replica' | 'unknown';
  /** The line of the fence; null if the folder does not fence the node. */
  readonly fenced: string | null;
}

/** Reads what the state folder says of a node, as it must be on every request. Never throws. */
export async function readNodeFiles(folder: string, node: string): Promise<NodeFiles> {
  try {
    const [told, fenced] = await Promise.all([
      readStateFile(folder, roleFile(node)),
      readStateFile(folder, fencedFile(node)),
    ]);
    // A folder that is gone, such as one of a disk that is not mounted, says nothing about anybody.
    if (told === null) await stat(folder);
    return { role: told === null ? defaultRole(node) : parseRole(told), fenced };
  } catch {
    // A fence that may be there keeps the node from writing as one that is there does.
    return { role: 'unknown', fenced: null };
  }
}

function parseRole(told: string): NodeFiles['role'] {
  return told === 'primary' || told === 'replica' ? told : 'unknown';
}

function defaultRole(node: string): NodeFiles['role'] {
  return node === DEFAULT_PRIMARY ? 'primary' : 'replica';
}
