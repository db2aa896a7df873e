import { cpSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

const FIXTURES = fileURLToPath(new URL('../fixtures/', import.meta.url));

/** The right answers for the small data root, computed by an independent program. */
export interface DataRootAnswers {
  readonly backfill: { readonly refreshed: readonly string[] };
  readonly cursor: { readonly refreshed: readonly string[]; readonly deferred: readonly string[] };
  readonly cursor_alone: { readonly refreshed: readonly string[]; readonly deferred: readonly string[] };
  readonly rows_after_backfill: Readonly<Record<string, unknown>>;
  readonly rows_after_cursor: Readonly<Record<string, unknown>>;
  readonly rows_after_cursor_alone: Readonly<Record<string, unknown>>;
}

/** Copies the small data root: a heal writes. */
export function copyFixture(target: string): string {
  cpSync(`${FIXTURES}delegate-root-small`, target, { recursive: true });
  return target;
}

/** The answers that stand beside the fixture. */
export function fixtureAnswers(): DataRootAnswers {
  return JSON.parse(readFileSync(`${FIXTURES}delegate-root-small.expected.json`, 'utf8')) as DataRootAnswers;
}
