import type { AuditView, ShownTask } from '../audit/audit-view.ts';
import { isUntrue } from '../audit/audit-view.ts';
import type { OwedItem } from '../audit/owed-item.ts';
import type { CommandContext } from '../command-context.ts';
import { hygieneLines } from './audit-hygiene.ts';
import { alignColumns, commandLines } from './columns.ts';
import { printable } from './printable.ts';
import { momentText, spanText } from './time-text.ts';
import { wrapText } from './wrap-text.ts';

/** How much of an audit is shown. */
export interface AuditScreen {
  /** Items that are shown at most; what is left out is counted. */
  readonly limit: number;
  /** Also the tasks that owe nothing: somebody asked for them. */
  readonly listsAll: boolean;
}

type Style = Pick<CommandContext, 'paint' | 'out' | 'program'>;

/** What is owed and by whom, oldest first, with what deals with it; then whatever else needs a look. */
export function auditText(view: AuditView, { limit, listsAll }: AuditScreen, context: Style): string {
  const { paint } = context;
  const owed = view.owed.slice(0, limit);
  const held = view.held.slice(0, Math.max(1, limit - owed.length));
  return [
    paint.bold(headline(view)),
    ...momentLines(view, context),
    ...itemLines(owed, 'OWES', context),
    ...moreLines(view.owed.length - owed.length, 'owed', context),
    ...itemLines(held, 'HELD BY', context),
    ...moreLines(view.held.length - held.length, 'held', context),
    ...(listsAll ? quietLines(view, context) : []),
    ...hygieneLines(view, context),
    ...notKnownLines(view, context),
  ].join('\n');
}

function notKnownLines({ not_known: all }: AuditView, { paint, out }: Style): readonly string[] {
  if (all.length === 0) return [];
  const lines = all.flatMap(({ what, why }) => wrapText(`  ${what}: ${why}`, out.columns));
  return ['', ...['what the log does not tell of the past:', ...lines].map((line) => paint.dim(line))];
}

function headline({ owed, held, tasks }: AuditView): string {
  const oldest = owed.find((item) => item.age_ms !== null)?.age_ms ?? null;
  const owing = new Set(owed.map((item) => item.task_id)).size;
  const lying = tasks.filter(isUntrue).length;
  const parts = [
    owed.length === 0
      ? 'nothing is owed'
      : `${owed.length} owed by ${owing} ${owing === 1 ? 'task' : 'tasks'}`,
    ...(oldest === null ? [] : [`the oldest for ${spanText(oldest)}`]),
    ...(held.length === 0 ? [] : [`${held.length} held`]),
    ...(lying === 0 ? [] : [`${lying} ${lying === 1 ? 'row is' : 'rows are'} not true`]),
  ];
  return parts.join(', ');
}

function momentLines({ at, seq }: AuditView, { paint }: Style): readonly string[] {
  return [paint.dim(at === null ? 'before the first event' : `at ${momentText(at)}, seq ${seq ?? '?'}`)];
}

function itemLines(
  items: readonly OwedItem[],
  head: 'OWES' | 'HELD BY',
  { paint, out }: Style,
): readonly string[] {
  if (items.length === 0) return [];
  const texts = (of: (item: OwedItem) => string): readonly string[] =>
    items.map((item) => printable(of(item)));
  const [heads = '', ...lines] = alignColumns(
    [
      { head: 'FOR', texts: texts((item) => (item.age_ms === null ? '?' : spanText(item.age_ms))) },
      { head: 'TASK', texts: texts((item) => item.task_id), least: 8, ids: true },
      {
        head,
        texts: texts((item) => (item.kind === 'attempt' ? item.id : `${item.kind} ${item.id}`)),
        least: 14,
        ids: true,
      },
      { head: 'HOLDER', texts: texts((item) => item.holder ?? '-'), least: 6 },
      { head: 'WHY', texts: texts((item) => item.reason), least: 36 },
    ],
    out.columns,
  );
  return [
    '',
    paint.bold(heads),
    ...items.flatMap((item, index) => [
      lines[index] ?? '',
      ...(item.kind === 'attempt' ? [] : commandLines(item.command, '  ', { width: out.columns, paint })),
    ]),
  ];
}

function moreLines(count: number, what: string, { paint }: Style): readonly string[] {
  return count <= 0 ? [] : [paint.dim(`  and ${count} more ${what} (--limit COUNT, or --json for all)`)];
}

/** Tasks that somebody asked for and that owe nothing. */
function quietLines({ tasks, owed, held }: AuditView, { paint, out }: Style): readonly string[] {
  const named = new Set([...owed, ...held].map((item) => item.task_id));
  const quiet = tasks.filter((task) => !named.has(task.task_id));
  if (quiet.length === 0) return [];
  const [heads = '', ...lines] = alignColumns(
    [
      { head: 'OWES NOTHING', texts: quiet.map((task) => printable(task.task_id)), least: 12, ids: true },
      { head: 'STATUS', texts: quiet.map((task) => printable(task.status ?? 'no row')), least: 8 },
      { head: 'ROW', texts: quiet.map(rowVerdict), least: 8 },
    ],
    out.columns,
  );
  return ['', paint.bold(heads), ...lines];
}

/** A row of a task that has not ended discloses nothing yet; that is no fault. */
function rowVerdict(task: ShownTask): string {
  if (task.row_error !== undefined) return 'unreadable';
  if (task.status === null) return '-';
  if (task.current === null) return 'not known';
  if (task.current) return 'true';
  return task.terminal ? 'stale' : 'not ended';
}
