import { isId } from '../core/ids.ts';
import { UsageError } from '../errors.ts';

/** The longest span that a lease may be asked for, in milliseconds: one year. */
const MAX_SPAN_MS = 31_536_000_000;

function refuse(field: string, problem: string, value: unknown): never {
  throw new UsageError('invalid_option', `${field} ${problem}`, {
    hint: 'Nothing was written; correct the argument.',
    facts: { field, value: typeof value === 'string' || typeof value === 'number' ? value : null },
  });
}

/** @throws UsageError if the value is no id: a missing or blank one is a mistake, never "any". */
export function idArgument(field: string, value: unknown): string {
  if (isId(value)) return value;
  return refuse(field, 'must be an id: 1 to 128 characters, letters, digits and _ . : -', value);
}

/** @throws UsageError if the value is no text with something in it. */
export function textArgument(field: string, value: unknown): string {
  if (typeof value === 'string' && value.trim() !== '') return value;
  return refuse(field, 'must be a text that is not blank', value);
}

/** An absent text is null. @throws UsageError if the value is anything else than text. */
export function optionalText(field: string, value: string | null | undefined): string | null {
  if (value === undefined || value === null || typeof value === 'string') return value ?? null;
  return refuse(field, 'must be a text', value);
}

/** @throws UsageError if the value is no position in a log. */
export function fenceArgument(value: unknown): number {
  if (typeof value === 'number' && Number.isSafeInteger(value) && value > 0) return value;
  return refuse('fence', 'must be the whole number that the claim gave', value);
}

/** An absent span is null. @throws UsageError if the value is no span in milliseconds. */
export function spanArgument(field: string, value: number | null | undefined): number | null {
  if (value === undefined || value === null) return null;
  if (Number.isSafeInteger(value) && value > 0 && value <= MAX_SPAN_MS) return value;
  return refuse(field, 'must be a whole number of milliseconds, at most one year', value);
}

/** @throws UsageError if the value is none of the words. */
export function wordArgument<Word extends string>(
  field: string,
  value: unknown,
  words: readonly Word[],
): Word {
  const word = words.find((known) => known === value);
  return word ?? refuse(field, `must be one of ${words.join(', ')}`, value);
}

/** @throws UsageError if the value is no whole number within the bounds. */
export function integerArgument(field: string, value: number, least: number): number {
  if (Number.isSafeInteger(value) && value >= least) return value;
  return refuse(field, `must be a whole number of at least ${least}`, value);
}

/** @throws UsageError for arguments that can't stand together. */
export function refuseBoth(field: string, other: string): never {
  return refuse(field, `can't be given together with ${other}`, null);
}
