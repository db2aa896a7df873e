import type { Printer } from '../command-context.ts';

/** Characters that are gathered before they are written: one call for some hundred lines. */
const PIECE = 64 * 1024;

/** Lines on their way to a printer. */
export interface LineWriter {
  readonly write: (line: string) => Promise<void>;
  /** Writes what is still held back. Must be called at the end, and wherever somebody waits for what was written. */
  readonly flush: () => Promise<void>;
}

/** Gathers lines, because a stream of a million lines must not make a million calls. */
export function lineWriter(printer: Printer): LineWriter {
  let held = '';
  const flush = async (): Promise<void> => {
    const text = held;
    held = '';
    await printer.write(text);
  };
  return {
    write: async (line) => {
      held += `${line}\n`;
      if (held.length >= PIECE) await flush();
    },
    flush,
  };
}
