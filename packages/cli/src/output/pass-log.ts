import type { PassLog } from '@custody/reconciler';
import type { CommandContext } from '../command-context.ts';
import { printable, valueText } from './printable.ts';

/**
 * Where the loop tells what it does. What a pass did is a result and goes to stdout, a JSON line each with
 * `--json`; everything else goes to stderr, as JSON for programs or as text for people.
 */
export async function passLog(context: CommandContext): Promise<PassLog> {
  const notes = context.json ? await jsonNotes(context) : textNotes(context);
  return {
    info: (facts, message) => {
      if (!isReport(facts)) notes.info(facts, message);
      else if (context.json) void context.out.write(`${JSON.stringify(facts)}\n`);
      else if (didSomething(facts))
        void context.out.write(`${stamp(context)} ${message}: ${factsText(facts)}\n`);
    },
    warn: notes.warn,
    error: notes.error,
  };
}

async function jsonNotes(context: CommandContext): Promise<PassLog> {
  const { pino } = await import('pino');
  const logger = pino(
    { base: null, timestamp: () => `,"time":"${new Date(context.now()).toISOString()}"` },
    {
      write: (line) => void context.err.write(line),
    },
  );
  return {
    info: (facts, message) => logger.info(facts, message),
    warn: (facts, message) => logger.warn(facts, message),
    error: (facts, message) => logger.error(facts, message),
  };
}

function textNotes(context: CommandContext): PassLog {
  const note = (facts: object, message: string): void => {
    void context.err.write(`${stamp(context)} ${printable(message)} ${factsText(facts)}\n`);
  };
  return { info: note, warn: note, error: note };
}

/** Every report of a pass names its trigger. */
function isReport(facts: object): boolean {
  return 'trigger' in facts;
}

/** A sweep that found nothing is no news for people. */
export function didSomething(report: object): boolean {
  return (
    'examined' in report || Object.values(report).some((value) => Array.isArray(value) && value.length > 0)
  );
}

function factsText(facts: object): string {
  const pairs = Object.entries(facts).map(([name, value]): string => {
    if (value instanceof Error) return printable(value.message);
    return `${name} ${Array.isArray(value) ? value.length : valueText(value)}`;
  });
  return pairs.join(', ');
}

function stamp(context: CommandContext): string {
  return context.paint.dim(new Date(context.now()).toISOString());
}
