import { toError } from '../errors.ts';
import type { NodeAnswer } from './ask-node.ts';
import { askNode, isRefused } from './ask-node.ts';

/**
 * How a node is: `ready`; `answers` something else; `refused`, so nobody listens; or `silent`, which says nothing
 * about whether its process still runs.
 */
type NodeHealth = 'ready' | 'answers' | 'refused' | 'silent';

/** What is seen of a node from outside. */
export interface NodeLook {
  readonly url: string;
  readonly health: NodeHealth;
  /** What it calls itself; null if it does not tell, or tells something else. */
  readonly role: 'primary' | 'replica' | null;
  /** The name that it answers under; null if it does not tell. */
  readonly node: string | null;
  /** Why there is no good answer; null if there is one. */
  readonly fault: string | null;
}

/** Asks a node how it is and what it is. Never throws. */
export async function lookAtNode(url: URL): Promise<NodeLook> {
  const seen = { url: url.origin, role: null, node: null };
  let health: NodeAnswer;
  try {
    health = await askNode(url, { path: '/health' });
  } catch (error) {
    return { ...seen, health: isRefused(error) ? 'refused' : 'silent', fault: toError(error).message };
  }
  const { node } = health;
  if (health.status !== 200 || health.body !== 'ready') {
    return { ...seen, node, health: 'answers', fault: `answers ${health.status} to GET /health` };
  }
  return { ...seen, node, health: 'ready', role: await roleAt(url), fault: null };
}

async function roleAt(url: URL): Promise<NodeLook['role']> {
  try {
    const { status, body } = await askNode(url, { path: '/role' });
    return status === 200 && (body === 'primary' || body === 'replica') ? body : null;
  } catch {
    return null;
  }
}
