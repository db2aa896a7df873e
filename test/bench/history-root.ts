import { closeSync, mkdirSync, openSync, writeSync } from 'node:fs';
import { join } from 'node:path';

/** Lines of one archived segment; a log is rotated long before it is as large as its history. */
const SEGMENT_LINES = 500_000;

/** Lines that are written at a time. */
const PART = 20_000;

/** Writes a data root of so many custody lines, rotated into archives. The text is never in memory as a whole. */
export function writeRoot(root: string, events: number): void {
  mkdirSync(join(root, 'logs'), { recursive: true });
  mkdirSync(join(root, 'archive'), { recursive: true });
  for (let start = 0; start < events; start += SEGMENT_LINES) {
    const end = Math.min(start + SEGMENT_LINES, events);
    const name = `events_${20_260_301 + start / SEGMENT_LINES}T000000.jsonl`;
    writeSegment(
      end === events ? join(root, 'logs', 'events.jsonl') : join(root, 'archive', name),
      start,
      end,
    );
  }
}

function writeSegment(file: string, start: number, end: number): void {
  const fd = openSync(file, 'w');
  for (let from = start; from < end; from += PART) {
    let text = '';
    for (let index = from; index < Math.min(from + PART, end); index += 1) text += line(index);
    writeSync(fd, text);
  }
  closeSync(fd);
}

/** One run to a task: it starts, and two lines later it settles, so that lines of several runs are mixed. */
function line(index: number): string {
  const run = (index >> 2) * 2 + (index % 2);
  const ids = { run_id: `run-${run}`, task_id: `task-${run}` };
  const ts = new Date(Date.UTC(2026, 2, 1) + index * 100).toISOString();
  const row =
    index % 4 < 2
      ? { ts, type: 'delegate_run_started', ...ids, route: 'route-a', model: 'model-a' }
      : {
          ts,
          type: 'delegate_run_settled',
          ...ids,
          state: 'succeeded',
          cost_usd: 0.25,
          spend_disclosed: true,
        };
  return `${JSON.stringify(row)}\n`;
}
