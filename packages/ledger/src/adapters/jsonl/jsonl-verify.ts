import { UsageError } from '../../errors.ts';
import type { VerifyOptions, VerifyReport } from '../../ports/ledger-store.ts';
import type { JsonlContext } from './jsonl-context.ts';

/** Says that this version can't check a log of lines; better than to call one good that nobody looked at. */
export async function verifyJsonl(context: JsonlContext, _options: VerifyOptions): Promise<VerifyReport> {
  throw new UsageError('not_supported', 'this version does not verify JSONL stores', {
    hint: 'Import the directory into a SQLite store and verify that.',
    facts: { path: context.paths.root },
  });
}
