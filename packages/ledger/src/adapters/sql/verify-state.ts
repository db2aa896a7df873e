import type { JsonObject } from '../../core/json.ts';
import { isJsonObject } from '../../core/json.ts';
import { EPOCH_DOCUMENT, parseEpoch } from '../../core/managed/epoch-record.ts';
import type { Head } from '../../ports/event-store.ts';
import type { VerifyProblem } from '../../ports/ledger-store.ts';
import type { Db } from './tables.ts';

/** Documents of state that nobody can read any more, and an epoch in the head that nobody raised. */
export async function stateFaults(
  db: Db,
  ledger: string,
  head: Pick<Head, 'epoch'>,
): Promise<readonly VerifyProblem[]> {
  const problems: VerifyProblem[] = [];
  const rows = await db
    .selectFrom('state_document')
    .select(['name', 'document'])
    .where('ledger', '=', ledger)
    .orderBy('name')
    .execute();
  for (const { name, document } of rows) {
    const value = toObject(document);
    if (value === null)
      problems.push({ code: 'table_mismatch', message: `state_document ${name} is no JSON object any more` });
    const raised = name === EPOCH_DOCUMENT ? parseEpoch(value) : null;
    if (raised !== null && raised.epoch !== head.epoch)
      problems.push({
        code: 'head_mismatch',
        message: `the head says epoch ${head.epoch}, it was raised to ${raised.epoch}`,
      });
  }
  return problems;
}

/** The object that a stored text is; null if it is none. */
export function toObject(text: unknown): JsonObject | null {
  if (typeof text !== 'string') return null;
  try {
    const value: unknown = JSON.parse(text);
    return isJsonObject(value) ? value : null;
  } catch {
    return null;
  }
}
