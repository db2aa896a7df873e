import type { Ledger } from '@custody/ledger';
import { StaleEpochError } from '@custody/ledger';
import { CliError, toError } from '../errors.ts';
import { isGivenBack, nodeFence } from '../state/node-fence.ts';
import type { NodeRole } from '../state/state-folder.ts';
import type { NodeFiles } from './node-files.ts';
import { readNodeFiles } from './node-files.ts';

/** One node of a served ledger: what it may do is read from the state folder each time. */
export interface ServedNode {
  readonly name: string;
  /** Aborted when the server stops; answers that would go on for long end then. */
  readonly stopping: AbortSignal;
  /** What the node is now. `primary` only if the ledger would take a write of it: also its epoch is compared. */
  role(): Promise<NodeRole>;
  /** The line of the fence; null if the node is not fenced. */
  fence(): Promise<string | null>;
  /** Runs work that changes nothing, on a replica too. */
  read<T>(work: (ledger: Ledger) => Promise<T>): Promise<T>;
  /**
   * Runs work that may write. `ended` is aborted when the node stops being primary; work that goes on for long ends
   * then.
   *
   * @throws CliError `read_only` on a replica, a fenced node, or one whose epoch is over.
   * @throws StaleEpochError if the epoch ended under the work; nothing was written.
   */
  write<T>(work: (ledger: Ledger, ended: AbortSignal) => Promise<T>): Promise<T>;
  /** Waits for the work that goes on, and closes the ledger. */
  close(): Promise<void>;
}

/** What a node works with. */
export interface NodeOptions {
  readonly name: string;
  /** The state folder. */
  readonly directory: string;
  /** Opens the ledger anew. A handle may write in the epoch in which it was opened, and in no other. */
  readonly open: (create: boolean) => Promise<Ledger>;
  readonly stopping: AbortSignal;
  /** Hears when the node becomes primary, or stops being it. */
  readonly onRole: (role: NodeRole, because: string) => void;
  /** Hears of a handle that could not be closed. */
  readonly onFault: (error: Error) => void;
}

/** A handle on the ledger, from when the node got a role until it is promoted the next time. */
interface Term {
  readonly ledger: Ledger;
  /** Of the ledger when the handle was opened. */
  readonly epoch: number;
  /** What the state folder said last. */
  role: NodeRole;
  /** The ledger belongs to somebody else. Only a promotion, or a restart, makes this node primary again. */
  isOver: boolean;
  /** Aborted when this node stops being primary. */
  readonly ended: AbortController;
  users: number;
  /** Called when the last user is gone. */
  onUnused: (() => void) | null;
}

/**
 * Starts a node.
 *
 * @throws CliError `node_fenced` if another node has taken over from it.
 * @throws StoreError as `open` does.
 */
export async function startNode(options: NodeOptions): Promise<ServedNode> {
  const { name, directory, stopping, onRole, onFault } = options;
  const files = await readNodeFiles(directory, name);
  if (files.fenced !== null) throw fencedError(name, files.fenced);
  const role = roleFrom(files);
  // A replica, and one that is promoted, takes over what is there; it never begins an empty ledger.
  let term = await beginTerm(options, role, role === 'primary');
  if (term.isOver) {
    await term.ledger.close();
    throw fencedError(name, 'the ledger was given to another node');
  }
  let turn: Promise<unknown> = Promise.resolve();
  let retired: Promise<unknown> = Promise.resolve();

  /** Follows the state folder, one change at a time. */
  async function follow(): Promise<NodeRole> {
    const files = await readNodeFiles(directory, name);
    if (isChange(files, term) || (await isBackAgain(files))) {
      const change = turn.then(() => changeTerm(files));
      turn = change.catch(() => undefined);
      await change;
    }
    return term.isOver || roleFrom(files) === 'replica' ? 'replica' : term.role;
  }

  /** A failover to this node that is run again may raise the epoch once more: the ledger is still this node's. */
  async function isBackAgain(files: NodeFiles): Promise<boolean> {
    if (!term.isOver || roleFrom(files) === 'replica') return false;
    const { epoch } = term;
    return use(term, (ledger) => isGivenBack(ledger, { folder: directory, node: name }, epoch));
  }

  async function changeTerm(files: NodeFiles): Promise<void> {
    // Asked again: whoever was before us may have made the same change.
    if (!(isChange(files, term) || (await isBackAgain(files)))) return;
    if (roleFrom(files) === 'replica') {
      term.role = 'replica';
      term.ended.abort();
      onRole('replica', files.fenced === null ? 'the role file says so' : `fenced: ${files.fenced}`);
      return;
    }
    const last = term;
    term = await beginTerm(options, 'primary', false);
    if (term.isOver) onRole('replica', 'the ledger was given to another node, whatever the role file says');
    else onRole('primary', `the role file says so; epoch ${term.epoch}`);
    retired = Promise.all([retired, unused(last).then(() => last.ledger.close())]);
    retired.catch((error: unknown) => onFault(toError(error)));
  }

  async function use<T>(used: Term, work: (ledger: Ledger, ended: AbortSignal) => Promise<T>): Promise<T> {
    used.users += 1;
    try {
      return await work(used.ledger, used.ended.signal);
    } catch (error) {
      if (error instanceof StaleEpochError) endTerm(used);
      throw error;
    } finally {
      used.users -= 1;
      if (used.users === 0) used.onUnused?.();
    }
  }

  function endTerm(ended: Term): void {
    if (ended.isOver) return;
    ended.isOver = true;
    ended.ended.abort();
    onRole('replica', `another writer has taken over the ledger; epoch ${ended.epoch} is over`);
  }

  /** A node whose epoch is over may still be called primary by its file; it must not call itself so. */
  async function provenRole(): Promise<NodeRole> {
    if ((await follow()) === 'replica') return 'replica';
    const asked = term;
    const { epoch } = await use(asked, (ledger) => ledger.head());
    if (epoch !== asked.epoch) endTerm(asked);
    return asked.isOver ? 'replica' : asked.role;
  }

  return {
    name,
    stopping,
    role: provenRole,
    fence: async () => (await readNodeFiles(directory, name)).fenced,
    read: async (work) => {
      await follow();
      return use(term, work);
    },
    write: async (work) => {
      if ((await follow()) === 'replica') throw readOnlyError(name);
      return use(term, work);
    },
    close: async () => {
      await turn;
      await unused(term);
      await term.ledger.close();
      await retired.catch(() => undefined);
    },
  };
}

/** A handle that is opened while a failover is on its way belongs to the node for which the epoch was raised. */
async function beginTerm(
  { open, name, directory }: NodeOptions,
  role: NodeRole,
  create: boolean,
): Promise<Term> {
  const ledger = await open(create);
  try {
    const { epoch } = await ledger.head();
    const isOver =
      role === 'primary' && (await nodeFence(ledger, { folder: directory, node: name })) !== null;
    return { ledger, epoch, role, isOver, ended: new AbortController(), users: 0, onUnused: null };
  } catch (error) {
    await ledger.close();
    throw error;
  }
}

/** Whoever is not told to be primary, or is fenced, must not write. */
function roleFrom({ role, fenced }: NodeFiles): NodeRole {
  return role === 'primary' && fenced === null ? 'primary' : 'replica';
}

/**
 * Whether the folder says that the node begins another term. A file that can't be read ends none: the node would
 * come back with a new epoch although nobody has promoted it.
 */
function isChange(files: NodeFiles, term: Term): boolean {
  if (files.fenced === null && files.role === 'unknown') return false;
  return roleFrom(files) !== term.role;
}

function unused(term: Term): Promise<void> {
  if (term.users === 0) return Promise.resolve();
  return new Promise((resolve) => {
    term.onUnused = resolve;
  });
}

function readOnlyError(name: string): CliError {
  return new CliError('read_only', `${name} is a replica, or fenced: it takes no writes`, {
    hint: 'Send writes to the primary, or through the proxy.',
    facts: { node: name },
  });
}

function fencedError(node: string, line: string): CliError {
  return new CliError('node_fenced', `${node} is fenced and must not serve: ${line}`, {
    hint: 'Another node has taken over. To serve from here again, start this one under another name, as a replica.',
    facts: { node, fenced: line },
  });
}
