import type { ExitCode } from '../exit-code.ts';
import { EXIT, exitCodeOf } from '../exit-code.ts';
import { printable, valueText } from './printable.ts';

/** An error as it is printed. */
export interface ErrorReport {
  readonly code: string;
  readonly message: string;
  readonly hint: string;
  readonly facts: Readonly<Record<string, unknown>>;
  readonly exitCode: ExitCode;
}

/** Facts that the message says already, or that only a program can use. */
const NOT_SHOWN: ReadonlySet<string> = new Set(['field', 'index', 'path', 'sqlite_code', 'url']);

/** What an error says of itself: its code and facts, or that it is a fault of this program. */
export function toErrorReport(error: unknown): ErrorReport {
  if (isPlanned(error)) {
    const { code, message, hint, facts } = error;
    return { code, message, hint, facts, exitCode: exitCodeOf(code) };
  }
  const message = error instanceof Error ? error.message : String(error);
  return {
    code: 'internal',
    message: `unexpected: ${message}`,
    facts: {},
    exitCode: exitCodeOf('internal'),
    hint: 'This is a fault of custody; set CUSTODY_DEBUG=1 to see where it happened, and report it.',
  };
}

/** The `--json` form: one object under `error`, or a refusal. Code, message and hint can't be hidden by a fact. */
export function errorJson({ code, message, hint, facts, exitCode }: ErrorReport): string {
  if (exitCode === EXIT.refused)
    return JSON.stringify({ ...facts, message, hint, outcome: 'refused', reason: code });
  return JSON.stringify({ error: { ...facts, code, message, hint } });
}

/** The form for people: what, the facts, what to do. */
export function errorText({ message, hint, facts }: ErrorReport): string {
  const shown = Object.entries(facts).filter(
    ([key, value]) => !NOT_SHOWN.has(key) && value !== null && value !== undefined,
  );
  const lines = shown.map(([key, value]) => `  ${key}: ${valueText(value)}`);
  return [`custody: ${printable(message)}`, ...lines, `hint: ${printable(hint)}`, ''].join('\n');
}

/** An error that says what to do about it: every one that is thrown on purpose. */
export interface PlannedError extends Error {
  readonly code: string;
  readonly hint: string;
  readonly facts: Readonly<Record<string, unknown>>;
}

/** Told by what it carries, not by its class: that also holds for errors of another copy of a package. */
export function isPlanned(error: unknown): error is PlannedError {
  return (
    error instanceof Error &&
    typeof (error as Partial<PlannedError>).code === 'string' &&
    typeof (error as Partial<PlannedError>).hint === 'string' &&
    typeof (error as Partial<PlannedError>).facts === 'object'
  );
}
