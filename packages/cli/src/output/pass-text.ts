import type { FailedTask, PlanEntry } from '@custody/reconciler';
import type { CommandContext } from '../command-context.ts';
import { fieldDiff } from './field-diff.ts';
import { printable } from './printable.ts';
import { wrapText } from './wrap-text.ts';

/** More ids than this fill the screen and say nothing more; `--json` has them all. */
const MAX_SHOWN = 20;

/** Ids for people, the first ones and how many more there are; nothing when there are none. */
export function idLines(
  label: string,
  ids: readonly string[],
  { out }: Pick<CommandContext, 'out'>,
): readonly string[] {
  if (ids.length === 0) return [];
  const more = ids.length - MAX_SHOWN;
  const list = printable(ids.slice(0, MAX_SHOWN).join(', ')) + (more > 0 ? ` and ${more} more` : '');
  return wrapText(`${label}: ${list}`, out.columns);
}

/** The tasks that a pass could not heal. */
export function failedLines(
  failed: readonly FailedTask[],
  { paint }: Pick<CommandContext, 'paint'>,
): readonly string[] {
  return failed.map(
    ({ task_id, error }) => `${paint.red('failed')} ${printable(task_id)}: ${printable(error)}`,
  );
}

/** A plan for people: each row's live fields before and after, and how to apply exactly this. */
export function planLines(
  planned: { readonly plan?: readonly PlanEntry[]; readonly plan_hash?: string },
  command: string,
  { paint, out, program }: Pick<CommandContext, 'paint' | 'out' | 'program'>,
): readonly string[] {
  const { plan, plan_hash: hash } = planned;
  if (plan === undefined || hash === undefined) return [];
  if (plan.length === 0) return [];
  const more = plan.length - MAX_SHOWN;
  return [
    ...plan.slice(0, MAX_SHOWN).flatMap((entry) => entryLines(entry, { paint, width: out.columns })),
    ...(more > 0 ? [`and ${more} more rows (--json shows all)`] : []),
    'nothing was written; this applies exactly this plan, or refuses:',
    paint.cyan(`  $ ${program} ${command} \\`),
    paint.cyan(`      --plan ${hash}`),
  ];
}

function entryLines(
  { task_id, before, after, because }: PlanEntry,
  { paint, width }: { readonly paint: CommandContext['paint']; readonly width: number },
): readonly string[] {
  const seqs = because.length === 0 ? '' : ` because of seq ${because.slice(-5).join(', ')}`;
  return [
    `${paint.bold(printable(task_id))}${paint.dim(seqs)}`,
    ...fieldDiff(before, after, { paint, width, indent: '  ' }),
  ];
}
