import { usageError } from '../errors.ts';
import { duration } from './parse-options.ts';

/** Parsers of option values of managed tasks, as commander calls them. */

/** A text with something in it. */
export function text(option: string): (value: string) => string {
  return (value) => {
    if (value.trim() !== '') return value;
    throw usageError(`${option} takes a text that is not blank`, `For example ${option} alice.`, {
      option,
      value,
    });
  };
}

/** Every value of an option that may be repeated. */
export function repeated(value: string, before: readonly string[] | undefined): readonly string[] {
  return [...(before ?? []), value];
}

/** A fence: the whole number that a claim gave. */
export function fence(value: string): number {
  const number = /^\d{1,15}$/.test(value) ? Number(value) : 0;
  if (number > 0) return number;
  throw usageError(
    `--fence takes the whole number that the claim gave, not ${JSON.stringify(value)}`,
    'For example --fence 12; `custody run refresh` tells the holder its current one.',
    { option: '--fence', value },
  );
}

/** A process id. */
export function processId(value: string): number {
  const number = /^\d{1,10}$/.test(value) ? Number(value) : 0;
  if (number > 0) return number;
  throw usageError(`--pid takes a process id, not ${JSON.stringify(value)}`, 'For example --pid 4242.', {
    option: '--pid',
    value,
  });
}

/** A whole number that may be negative. */
export function priority(value: string): number {
  if (/^-?\d{1,9}$/.test(value)) return Number(value);
  throw usageError(
    `--priority takes a whole number, not ${JSON.stringify(value)}`,
    'For example --priority 5; greater goes first.',
    { option: '--priority', value },
  );
}

/** A part of a task: its id, if one was given, and its title. */
export interface ChildOption {
  readonly id: string | null;
  readonly title: string;
}

/**
 * `TITLE` or `ID=TITLE`: what stands before the first `=` is an id unless there is white space in it. A blank id is
 * refused: it is a variable that was not set, not the beginning of a title.
 */
export function child(value: string, before: readonly ChildOption[] | undefined): readonly ChildOption[] {
  const at = value.indexOf('=');
  const isNamed = at >= 0 && !/\s/.test(value.slice(0, at));
  const option = isNamed
    ? { id: value.slice(0, at), title: value.slice(at + 1) }
    : { id: null, title: value };
  if (option.id !== '' && option.title.trim() !== '') return [...(before ?? []), option];
  throw usageError(
    `--child takes a title or ID=TITLE, not ${JSON.stringify(value)}`,
    `For example --child 'Write the tests' or --child 'task-9=Write the tests'.`,
    { option: '--child', value },
  );
}

/** Times of a ledger by the names under which people set them. */
const SETTINGS = {
  CUSTODY_CRASH_GRACE: { field: 'crash_grace_ms', least: 0 },
  CUSTODY_PARK_SETTLE: { field: 'park_settle_ms', least: 0 },
  CUSTODY_LEASE_TTL: { field: 'lease_ttl_ms', least: 1 },
} as const;

/** Settings that were given, in milliseconds. */
export type SettingOptions = Readonly<
  Partial<Record<(typeof SETTINGS)[keyof typeof SETTINGS]['field'], number>>
>;

/** `NAME=DURATION`, repeated. */
export function setting(value: string, before: SettingOptions | undefined): SettingOptions {
  const at = value.indexOf('=');
  const name = value.slice(0, Math.max(at, 0));
  const known = isSetting(name) ? SETTINGS[name] : null;
  if (known === null) {
    throw usageError(
      `--set takes NAME=DURATION, not ${JSON.stringify(value)}`,
      `Names: ${Object.keys(SETTINGS).join(', ')}. For example --set CUSTODY_LEASE_TTL=15m.`,
      { option: '--set', value },
    );
  }
  const span = value.slice(at + 1);
  const isNothing = known.least === 0 && /^0(?:ms|s|m|h|d)$/.test(span);
  const ms = isNothing ? 0 : Math.round(duration(`--set ${name}`)(span));
  return { ...before, [known.field]: ms };
}

function isSetting(name: string): name is keyof typeof SETTINGS {
  return Object.hasOwn(SETTINGS, name);
}
