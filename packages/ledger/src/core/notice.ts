import type { JsonObject } from './json.ts';
import { isJsonObject, textOf, textsOf } from './json.ts';

/** Items of one line before it is cut. */
const MAX_ITEMS = 10;

const LISTS = [
  ['Delegated runs still open', 'open_run_ids'],
  ['Delegated starts without a known outcome', 'pending_invocation_ids'],
  ['Patches that nobody has decided on', 'undisposed_patch_run_ids'],
] as const;

/**
 * What a person should know beside a task's result: one line for each kind of receipt and debt
 * (docs/contracts/custody.md, 3). Told from the stored envelope alone, so it says what was true when the row
 * was audited. Empty if there is nothing to say.
 */
export function noticeOf(row: JsonObject): string {
  const envelope = row['delegate_terminal_reconciliation'];
  if (!isJsonObject(envelope) || Object.keys(envelope).length === 0) return '';
  if (textOf(envelope, 'audit_status') !== 'ok')
    return 'The custody of delegated runs could not be verified; see the task details.';
  const receipts = troubledReceipts(envelope);
  const lists = LISTS.map(([label, field]) => [label, textsOf(envelope[field])] as const);
  if (receipts.length === 0 && lists.every(([, ids]) => ids.length === 0)) return '';
  const lines = lists.map(([label, ids]) => toLine(label, ids));
  return (
    receipts.length === 0 ? lines : [toLine('Delegated runs that did not succeed', receipts), ...lines]
  ).join('\n');
}

function troubledReceipts(envelope: JsonObject): readonly string[] {
  const receipts = Array.isArray(envelope['terminal_runs'])
    ? envelope['terminal_runs'].filter(isJsonObject)
    : [];
  return receipts.filter((receipt) => textOf(receipt, 'state') !== 'succeeded').map(toReceiptText);
}

function toReceiptText(receipt: JsonObject): string {
  const model = textOf(receipt, 'model');
  return `${textOf(receipt, 'run_id')} ${textOf(receipt, 'state')}${model === '' ? '' : ` (${model})`}`;
}

function toLine(label: string, items: readonly string[]): string {
  const omitted = items.length - MAX_ITEMS;
  const shown = items.length === 0 ? 'none recorded' : items.slice(0, MAX_ITEMS).join(', ');
  return `${label}: ${shown}${omitted > 0 ? ` (+${omitted} more in task details)` : ''}.`;
}
