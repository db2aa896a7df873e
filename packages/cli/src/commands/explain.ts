import type { CommandContext } from '../command-context.ts';
import type { ExitCode } from '../exit-code.ts';
import { EXIT } from '../exit-code.ts';
import type { ExplainedField } from '../explain/explained-fields.ts';
import type { HealRecord } from '../explain/heal-history.ts';
import { loadRow } from '../load-row.ts';
import { withLedger } from '../open-store.ts';
import { printable, shortened, valueText } from '../output/printable.ts';
import { printRawReport, rawObjectLine } from '../output/raw-report.ts';
import { printRefusal } from '../output/report.ts';
import { eventsOfTask } from '../task-events.ts';

/** Says of every field of a row whether it is frozen, which events it rests on, and how it was healed. */
export async function explain(
  context: CommandContext,
  { taskId }: { readonly taskId: string },
): Promise<ExitCode> {
  return withLedger(context, 'look', async (ledger) => {
    const row = await loadRow(ledger, taskId);
    const custody = (await ledger.custody.tasks([taskId])).get(taskId);
    if (row === null || custody === undefined) {
      return printRefusal(context, { outcome: 'not_found', task_id: taskId }, `there is no task ${taskId}`);
    }
    const { decidingEvents } = await import('../explain/deciding-events.ts');
    const { explainedFields } = await import('../explain/explained-fields.ts');
    const { healHistory } = await import('../explain/heal-history.ts');
    const events = await eventsOfTask(ledger, custody);
    const fields = explainedFields(row, decidingEvents(custody, events), events);
    const healed = healHistory(row.value, events);
    await printRawReport(
      context,
      {
        task_id: JSON.stringify(taskId),
        fields: `[${fields.map(fieldJson).join(',')}]`,
        healed: JSON.stringify(healed),
      },
      () => humanExplanation(taskId, { fields, healed }, context),
    );
    return EXIT.done;
  });
}

function fieldJson({ field, raw, frozen, because }: ExplainedField): string {
  return rawObjectLine({
    field: JSON.stringify(field),
    value: raw,
    frozen: String(frozen),
    because: JSON.stringify(because),
  });
}

function humanExplanation(
  taskId: string,
  { fields, healed }: { readonly fields: readonly ExplainedField[]; readonly healed: readonly HealRecord[] },
  { paint, out }: CommandContext,
): string {
  return [
    paint.bold(`task ${printable(taskId)}`),
    ...fields.flatMap(({ field, raw, frozen, because }) => {
      const value = shortened(
        printable(raw.replaceAll(/\s+/g, ' ')),
        Math.max(20, out.columns - field.length - 12),
      );
      return [
        `  ${frozen ? paint.dim('frozen') : paint.green('live  ')}  ${printable(field)} ${value}`,
        ...reasonLines(because, paint),
      ];
    }),
    paint.bold('healed'),
    ...(healed.length === 0 ? ['  never'] : healed.flatMap((heal) => healLines(heal, paint))),
  ].join('\n');
}

/** The newest reasons say most; `--json` has all. */
const MAX_REASONS = 5;

function reasonLines(because: ExplainedField['because'], paint: CommandContext['paint']): readonly string[] {
  const older = because.length - MAX_REASONS;
  return [
    ...because
      .slice(-MAX_REASONS)
      .map(({ seq, type, at }) => paint.dim(`            because of seq ${seq} ${printable(type)} at ${at}`)),
    ...(older > 0 ? [paint.dim(`            and ${older} earlier events`)] : []),
  ];
}

function healLines(
  { seq, at, trigger, before, after }: HealRecord,
  paint: CommandContext['paint'],
): readonly string[] {
  return [
    `  ${at} ${printable(trigger)} ${paint.dim(`(seq ${seq})`)}`,
    ...Object.entries(after).flatMap(([field, value]) => [
      `    ${printable(field)}`,
      ...(before === null ? [] : [`      ${paint.red(`- ${valueText(before[field])}`)}`]),
      `      ${paint.green(`+ ${valueText(value)}`)}`,
    ]),
  ];
}
