import { setTimeout as wait } from 'node:timers/promises';
import type { AuditOptions } from '../audit/audit-screen.ts';
import { auditScreen, viewOf } from '../audit/audit-screen.ts';
import type { CommandContext } from '../command-context.ts';
import type { ExitCode } from '../exit-code.ts';
import { EXIT } from '../exit-code.ts';
import { withLedger } from '../open-store.ts';

/** A screen of its own, so that what stood on the terminal comes back; and no cursor on it. */
const ENTER = '\u001b[?1049h\u001b[?25l';
const LEAVE = '\u001b[?25h\u001b[?1049l';
/** To the upper left; each line clears what is behind it, the end what is below. Nothing flickers. */
const HOME = '\u001b[H';
const TO_LINE_END = '\u001b[K';
const TO_SCREEN_END = '\u001b[J';

/**
 * Audits again and again until SIGINT, SIGTERM, or nobody reads any more. A terminal is drawn over; any other
 * reader gets one screen after the other, parted by a blank line, or a JSON document a line.
 */
export async function watchAudit(
  context: CommandContext,
  options: AuditOptions,
  interval: number,
): Promise<ExitCode> {
  const signal = context.interruption();
  const isDrawn = context.out.isTty && !context.json;
  if (isDrawn) await context.out.write(ENTER);
  try {
    return await withLedger(context, 'look', async (ledger) => {
      while (!signal.aborted && !context.out.isClosed()) {
        const view = await viewOf(ledger, context, options);
        const screen = context.json ? JSON.stringify(view) : auditScreen(view, options, context);
        await context.out.write(isDrawn ? drawn(screen, context) : `${screen}\n${context.json ? '' : '\n'}`);
        await wait(interval, undefined, { signal }).catch(() => undefined);
      }
      return EXIT.done;
    });
  } finally {
    if (isDrawn) await context.out.write(LEAVE);
  }
}

/** The screen over the one before it. What is higher than the terminal would push its own beginning away. */
function drawn(screen: string, { out }: CommandContext): string {
  const lines = screen.split('\n').slice(0, out.rows ?? undefined);
  return `${HOME}${lines.map((line) => `${line}${TO_LINE_END}`).join('\r\n')}${TO_SCREEN_END}`;
}
