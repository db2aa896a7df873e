// A client of a served ledger that writes through the proxy until it is told to stop, on the built packages.
//
// usage: load-worker.mjs PROXY_URL NAME
// Three lanes write side by side: records, events, and tasks that are claimed, stepped through and completed. Whatever
// was acknowledged is printed as a line: {"record":ID,"text":TEXT}, {"event":ID}, {"key":KEY,"value":VALUE},
// {"completed":TASK}. What did not succeed is made again under the same ids, as a client does that must not lose it,
// and counted: {"again":WHY}. "stop" on stdin lets each lane finish what it has begun.
import { writeSync } from 'node:fs';
import { createInterface } from 'node:readline';
import { setTimeout as sleep } from 'node:timers/promises';
import { openLedger } from '@custody/ledger';

const [, , proxy, name] = process.argv;
/** Between two writes of a lane, in milliseconds. */
const PAUSE_MS = 20;
/** How long a record's write may take, in milliseconds: a paused node answers nothing at all. */
const PUT_TIMEOUT_MS = 2000;

let isStopping = false;
// Straight to the file descriptor: what was acknowledged must not wait in a buffer.
const say = (line) => writeSync(1, `${JSON.stringify(line)}\n`);

const ledger = await untilDone(() => openLedger(proxy));

/** Makes something again until it is answered by a node that holds the ledger. */
async function untilDone(attempt) {
  for (;;) {
    try {
      const answer = await attempt();
      if (answer.reason !== 'stale_epoch') return answer;
      say({ again: answer.reason });
    } catch (error) {
      say({ again: error.code ?? error.name });
    }
    await sleep(PAUSE_MS);
  }
}

async function putRecord(number) {
  const id = `${name}-r-${number}`;
  const text = `record ${number} of ${name} ✓`;
  for (;;) {
    const signal = AbortSignal.timeout(PUT_TIMEOUT_MS);
    const status = await fetch(`${proxy}/records/${id}`, { method: 'PUT', body: text, signal }).then(
      (answer) => answer.arrayBuffer().then(() => answer.status),
      (error) => error.name,
    );
    if (status === 204) return say({ record: id, text });
    say({ again: status });
    await sleep(PAUSE_MS);
  }
}

async function appendEvent(number) {
  const id = `${name}-e-${number}`;
  await untilDone(() => ledger.append([{ type: 'x.load', id, number }]));
  say({ event: id });
}

async function workOnTask(number) {
  const taskId = `${name}-t-${number}`;
  const key = `${taskId}:step`;
  const value = `done by ${name}`;
  await untilDone(() => ledger.tasks.create({ taskId, title: 'load' }));
  const claim = await untilDone(() => ledger.runs.claim({ taskId, holder: name }));
  if (claim.outcome !== 'claimed') return say({ fault: `claim of ${taskId}: ${JSON.stringify(claim)}` });
  const runId = claim.run_id;
  let { fence } = claim;
  const underFence = async (command) => {
    for (;;) {
      const answer = await untilDone(() => command(fence));
      if (answer.reason !== 'stale_fence') return answer;
      // A failover gave the lease a new fence; only its holder is told.
      const fresh = await untilDone(() => ledger.runs.refresh({ runId, holder: name }));
      if (fresh.outcome !== 'refreshed') return fresh;
      ({ fence } = fresh);
      say({ again: 'stale_fence' });
    }
  };
  const step = await underFence((current) =>
    ledger.runs.submit({ taskId, runId, fence: current, idempotencyKey: key, value }),
  );
  if (step.outcome !== 'applied') return say({ fault: `submit of ${taskId}: ${JSON.stringify(step)}` });
  say({ key, value: step.value });
  const end = await underFence((current) =>
    ledger.runs.complete({ taskId, runId, fence: current, result: value }),
  );
  if (end.outcome !== 'completed') return say({ fault: `end of ${taskId}: ${JSON.stringify(end)}` });
  say({ completed: taskId });
}

async function lane(work) {
  for (let number = 0; !isStopping; number += 1) {
    await work(number);
    await sleep(PAUSE_MS);
  }
}

say({ ready: true });
createInterface({ input: process.stdin }).once('line', () => {
  isStopping = true;
});
await Promise.all([lane(putRecord), lane(appendEvent), lane(workOnTask)]);
await ledger.close();
process.exit(0);
