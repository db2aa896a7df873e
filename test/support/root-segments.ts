import type { JsonFields } from './root-json.ts';
import { lineStyle, renderJson } from './root-json.ts';
import { BAD_BYTES, BAD_BYTES_MARK, noiseLine, words } from './root-noise.ts';
import type { PlannedEvent, RootPlan } from './root-plan.ts';
import { isTrap, layTrap } from './root-plan.ts';

/** A log of which every segment but the last is archived. */
export interface Segments {
  readonly archived: readonly { readonly name: string; readonly content: Buffer }[];
  readonly live: Buffer;
}

/** Writes the planned events as lines, with noise between them, and cuts the log into segments. */
export function writeSegments(plan: RootPlan): Segments {
  const lines = inOrder(plan.events).flatMap((event) => [
    ...noiseBefore(plan, event.atMs),
    custodyLine(plan, event),
  ]);
  const cuts = cutPoints(lines, plan.options.segments);
  const archived = cuts.map((cut, index) => {
    const content = lines.slice(cuts[index - 1] ?? 0, cut).join('') + tornTail(plan, 'archive');
    return { name: segmentName(index), content: encode(content) };
  });
  const live = lines.slice(cuts.at(-1) ?? 0).join('') + tornTail(plan, 'live file');
  return { archived, live: encode(live) };
}

/** Where the segments end: before a line that is missed when a torn tail is glued onto it. */
function cutPoints(lines: readonly string[], segments: number): number[] {
  const size = Math.ceil(lines.length / (segments + 1));
  return Array.from({ length: segments }, (_, index) => {
    const wanted = (index + 1) * size;
    const settled = lines.findIndex((line, at) => at >= wanted && line.includes('"delegate_run_settled"'));
    return settled === -1 || settled > wanted + size / 2 ? wanted : settled;
  });
}

/** The events by time; those of one moment stay in the order in which they were told. */
export function inOrder(events: readonly PlannedEvent[]): PlannedEvent[] {
  return [...events].sort((left, right) => left.atMs - right.atMs);
}

/** Puts the bytes that are no UTF-8 where their mark stands. */
export function encode(text: string): Buffer {
  const parts = text.split(BAD_BYTES_MARK).flatMap((part) => [BAD_BYTES, Buffer.from(part, 'utf8')]);
  return Buffer.concat(parts.slice(1));
}

/** Every fourth name shares the second of the one before and has a number behind it. */
function segmentName(index: number): string {
  const hour = Math.floor(index / 4);
  const day = String(2 + Math.floor(hour / 24)).padStart(2, '0');
  const stamp = `202603${day}T${String(hour % 24).padStart(2, '0')}${String((index % 4 === 3 ? 2 : index % 4) * 15).padStart(2, '0')}00`;
  return `events_${stamp}${index % 4 === 3 ? '_1' : ''}.jsonl`;
}

function noiseBefore(plan: RootPlan, atMs: number): string[] {
  const wanted = plan.options.noise;
  const count = Math.floor(wanted) + (plan.random.chance(wanted - Math.floor(wanted)) ? 1 : 0);
  return Array.from({ length: count }, () => noiseLine(plan, atMs) + newline(plan));
}

function custodyLine(plan: RootPlan, { row }: PlannedEvent): string {
  const { random } = plan;
  let fields: JsonFields = row;
  if (isTrap(plan, 'custody row with more fields', 0.06)) fields = { ...row, ...moreFields(plan) };
  if (isTrap(plan, 'custody row with its kind last', 0.05)) {
    const { type, ...rest } = fields;
    fields = { ...rest, type };
  }
  let text = renderJson(fields, lineStyle(random));
  if (isTrap(plan, 'escaped letters in an id', 0.03))
    text = text.replaceAll('"run-', '"\\u0072un-').replaceAll('"task-', '"t\\u0061sk-');
  if (isTrap(plan, 'blanks around the values of a row', 0.02)) text = ` \t${text.replace(/^\{/, '{\r  ')}  `;
  return text + newline(plan);
}

/** Fields of writers that we don't know; some hold what looks like another row. */
function moreFields(plan: RootPlan): JsonFields {
  const inner = { type: 'delegate_run_settled', run_id: 'run-decoy', state: 'failed' };
  return plan.random.pick<JsonFields>([
    { note: `free text ${BAD_BYTES_MARK} \u2028 end` },
    { note: words(plan), detail: inner },
    Object.fromEntries([
      ['__proto__', inner],
      ['constructor', 'x'],
      ['', 'empty key'],
    ]),
    { lone: '\ud800', note: 'é'.repeat(plan.random.int(1, plan.random.chance(0.05) ? 70_000 : 200)) },
    { nested: { run_id: 'run-decoy', task_id: 'task-decoy', deep: [[[inner]]] } },
  ]);
}

function newline(plan: RootPlan): string {
  return isTrap(plan, 'CRLF', 0.04) ? '\r\n' : '\n';
}

/** What stands behind the last newline of a segment: it does not exist, even if it is whole JSON. */
function tornTail(plan: RootPlan, where: string): string {
  const { random } = plan;
  const line = renderJson(
    {
      ts: '2026-03-02T20:00:00Z',
      type: 'delegate_run_settled',
      run_id: lastRunId(plan),
      task_id: random.pick(plan.taskIds),
      state: 'failed',
    },
    lineStyle(random),
  );
  const kind = random.pick(['no torn tail', 'torn tail', 'tail that is whole but has no newline']);
  layTrap(plan, `${where}: ${kind}`);
  if (kind === 'no torn tail') return '';
  return kind === 'torn tail' ? line.slice(0, random.int(1, line.length - 1)) : line;
}

function lastRunId(plan: RootPlan) {
  const started = plan.events.filter(({ row }) => row['type'] === 'delegate_run_started');
  return started[plan.random.int(0, started.length - 1)]?.row['run_id'] ?? 'run-decoy';
}
