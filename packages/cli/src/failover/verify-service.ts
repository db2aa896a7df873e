import { setTimeout as sleep } from 'node:timers/promises';
import { toError } from '../errors.ts';
import { askNode } from './ask-node.ts';
import type { FailoverTools } from './failover-tools.ts';
import { lookAtNode } from './look-at-node.ts';
import type { FailoverRefusal } from './preflight.ts';
import { refuse } from './preflight.ts';
import { isServing } from './step-states.ts';

/** The record that a failover writes and reads back. There is one, however many failovers there were. */
const CHECK_RECORD = 'custody-failover-check';

/** How long the service may take to be as it should be, in milliseconds. */
const VERIFY_PATIENCE_MS = 15_000;

/** Between two questions, in milliseconds. */
const PAUSE_MS = 100;

/** Asks the service as clients do: health, role, one write and its read-back. */
export async function verifyService(tools: FailoverTools, node: string): Promise<FailoverRefusal | null> {
  const url = tools.input.publicUrl ?? tools.input.newUrl;
  const fault = await until(() => faultAt(url, node, tools));
  if (fault !== null) {
    return refuse('not_verified', {
      message: `${node} is primary, but the service at ${url.origin} is not as it should be: ${fault}`,
      hint: 'Is the proxy running, with this state folder? Then run this again.',
      facts: { node, url: url.origin },
    });
  }
  await tools.tell('verify', `a write through ${url.origin} was read back`);
  await tools.onDurable?.('verified');
  return null;
}

/** Asks again while something is wrong: the clients of a node that was gone all come back in the same instant. */
async function until(ask: () => Promise<string | null>): Promise<string | null> {
  const deadline = performance.now() + VERIFY_PATIENCE_MS;
  for (;;) {
    const fault = await ask();
    if (fault === null || performance.now() >= deadline) return fault;
    await sleep(PAUSE_MS);
  }
}

async function faultAt(url: URL, node: string, { now, token }: FailoverTools): Promise<string | null> {
  const look = await lookAtNode(url);
  if (!isServing(look, node))
    return look.fault ?? `${look.node ?? 'it'} answers as ${look.role ?? 'neither primary nor replica'}`;
  // Never the same twice: an older value would prove nothing.
  const value = `${node} ${new Date(now()).toISOString()} ${crypto.randomUUID()}`;
  const path = `/records/${CHECK_RECORD}`;
  try {
    const put = await askNode(url, { path, method: 'PUT', body: value, token });
    if (put.status !== 204) return `PUT ${path} was answered ${put.status} ${put.body.slice(0, 200)}`;
    const got = await askNode(url, { path, token });
    return got.status === 200 && got.body === value ? null : `GET ${path} did not answer what was written`;
  } catch (error) {
    return toError(error).message;
  }
}
