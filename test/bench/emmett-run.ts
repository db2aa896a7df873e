import { loadPeers } from './peers.ts';
import { timed } from './round.ts';
import { eventAt, eventsFrom } from './workload.ts';

// A program of its own: the peer sometimes throws where nobody can catch, and then only this process ends.

const [fileName = '', mode = '', count = '0', batch = '1'] = process.argv.slice(2);
const { getSQLiteEventStore } = await (await loadPeers()).emmett();
const store = getSQLiteEventStore({ fileName });
// The first append makes the tables.
await store.appendToStream('warm:up', [toEmmett(eventAt(0))]);
const elapsed = await timed(async () => {
  for (let start = 0; start < Number(count); start += Number(batch))
    for (const [stream, events] of streamsFrom(start, Number(batch)))
      await store.appendToStream(stream, events);
});
process.stdout.write(String(elapsed), () => process.exit(0));

function toEmmett(event: object & { readonly type: string }) {
  const { type, ...data } = event;
  return { type, data };
}

/** A batch as appends of the peer: one for each task in it, or one for all. */
function streamsFrom(start: number, size: number): ReadonlyMap<string, ReturnType<typeof toEmmett>[]> {
  const streams = new Map<string, ReturnType<typeof toEmmett>[]>();
  for (const event of eventsFrom(start, size)) {
    const stream = mode === 'one-stream' ? `batch:${start}` : `task:${event.task_id}`;
    const known = streams.get(stream);
    if (known === undefined) streams.set(stream, [toEmmett(event)]);
    else known.push(toEmmett(event));
  }
  return streams;
}
