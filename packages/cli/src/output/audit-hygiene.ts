import { isJsonObject } from '@custody/ledger';
import type { AuditView, ShownTask } from '../audit/audit-view.ts';
import type { CommandContext } from '../command-context.ts';
import { commandLines } from './columns.ts';
import { idLines } from './pass-text.ts';
import { printable } from './printable.ts';
import { spanText } from './time-text.ts';
import { wrapText } from './wrap-text.ts';

type Style = Pick<CommandContext, 'paint' | 'out' | 'program'>;

/** More parked tasks than this are counted, not shown. */
const MAX_PARKED = 5;

/** What needs a look beside the debts: rows that lie, tasks that do not heal, sweeps that lag. Nothing when all is well. */
export function hygieneLines(view: AuditView, context: Style): readonly string[] {
  const lines = [
    ...untrueLines(view.tasks, context),
    ...parkedLines(view, context),
    ...deferredLines(view, context),
    ...passLines(view, context),
  ];
  return lines.length === 0 ? [] : ['', ...lines];
}

function untrueLines(tasks: readonly ShownTask[], { paint, out, program }: Style): readonly string[] {
  const stale = tasks.filter(
    (task) => task.row_error === undefined && task.terminal && task.current === false,
  );
  const unreadable = tasks.flatMap(({ task_id, row_error: why }) =>
    why === undefined ? [] : wrapText(printable(`row of ${task_id} can't be read: ${why}`), out.columns),
  );
  if (stale.length === 0) return unreadable;
  const only = stale.length === 1 ? stale[0] : undefined;
  const command = only === undefined ? 'backfill --dry-run' : `clear ${only.task_id} --dry-run`;
  return [
    ...unreadable.map((line) => paint.red(line)),
    ...idLines(
      'rows that are not true',
      stale.map((task) => task.task_id),
      { out },
    ).map((line) => paint.red(line)),
    ...commandLines(`${program} ${command}`, '  ', { width: out.columns, paint }),
  ];
}

function parkedLines({ parked, at }: AuditView, { paint, out, program }: Style): readonly string[] {
  if (parked.length === 0) return [];
  const shown = parked.slice(0, MAX_PARKED).flatMap(({ task_id, failures, error, since }) => {
    const text = `parked ${task_id} after ${failures} failures${forText(since, at)}: ${error}`;
    return wrapText(printable(text), out.columns).map((line) => paint.red(line));
  });
  const more = parked.length - MAX_PARKED;
  return [
    ...shown,
    ...(more > 0 ? [paint.red(`and ${more} more parked`)] : []),
    ...commandLines(`${program} backfill`, '  ', { width: out.columns, paint }),
  ];
}

function deferredLines({ deferred, at }: AuditView, { out }: Style): readonly string[] {
  const oldest = deferred.map((item) => item.since).sort()[0];
  if (oldest === undefined) return [];
  const label = `deferred until their tasks end${forText(oldest, at)}`;
  return idLines(
    label,
    deferred.map((item) => item.task_id),
    { out },
  );
}

function passLines(
  { cursor_lag: lag, last_pass: passes, at }: AuditView,
  { paint, out }: Style,
): readonly string[] {
  if (lag === null || passes === null || lag === 0) return [];
  const ran = ['backfill', 'sweep'].flatMap((name) => {
    const pass = passes[name];
    return isJsonObject(pass) ? [`last ${name}${forText(String(pass['at']), at)} ago`] : [];
  });
  const told = ran.length === 0 ? 'no pass has run yet' : ran.join(', ');
  return wrapText(
    `${lag} ${lag === 1 ? 'event' : 'events'} that no sweep has looked at; ${told}`,
    out.columns,
  ).map((line) => paint.dim(line));
}

/** ` for 3m` up to the moment of the view; empty when one of both is no time. */
function forText(since: string, at: string | null): string {
  const ms = at === null ? Number.NaN : Date.parse(at) - Date.parse(since);
  return Number.isNaN(ms) ? '' : ` ${spanText(ms)}`;
}
