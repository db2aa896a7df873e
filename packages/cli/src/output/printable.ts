// Ids and messages come from foreign logs; a terminal must not obey what stands in them.
const UNPRINTABLE = /[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}]/gu;

/** Text that is safe to show on a terminal: what would move the cursor or hide text is shown as its code. */
export function printable(text: string): string {
  return text.replace(UNPRINTABLE, (character) => `\\u{${character.codePointAt(0)?.toString(16) ?? ''}}`);
}

/** Cuts a text to a width, with a mark where something was left out. */
export function shortened(text: string, width: number): string {
  return text.length <= width ? text : `${text.slice(0, Math.max(0, width - 1))}…`;
}

/** Cuts an id to a width in its middle: ids of one moment differ at their ends. */
export function shortenedInside(text: string, width: number): string {
  if (text.length <= width) return text;
  const tail = Math.floor((width - 1) / 2);
  return `${text.slice(0, Math.max(0, width - 1 - tail))}…${tail > 0 ? text.slice(-tail) : ''}`;
}

/** A value as a person reads it: text as it is, anything else as JSON. */
export function valueText(value: unknown): string {
  return printable(typeof value === 'string' ? value : JSON.stringify(value ?? null));
}
