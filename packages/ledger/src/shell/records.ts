import { isId } from '../core/ids.ts';
import { UsageError } from '../errors.ts';
import type { LedgerStore } from '../ports/ledger-store.ts';
import type { RecordStore } from '../ports/record-store.ts';

/** Records of a store, behind the checks that every store needs. A store without records refuses each call. */
export function recordsOf({
  kind,
  url,
  records,
}: Pick<LedgerStore, 'kind' | 'url' | 'records'>): RecordStore {
  const store = (): RecordStore => {
    if (records !== undefined) return records;
    throw new UsageError('not_supported', `a ${kind} store keeps no records`, {
      hint: 'Import it into a SQLite store first: custody -s sqlite:PATH event import DIR.',
      facts: { store: url },
    });
  };
  return {
    put: async (id, text) => {
      checkId(id);
      if (!text.isWellFormed())
        throw new UsageError('invalid_option', `the text of record ${id} can't be written as UTF-8`, {
          hint: 'It holds half of a surrogate pair; correct it and put it again.',
          facts: { record_id: id },
        });
      await store().put(id, text);
    },
    get: async (id) => {
      checkId(id);
      return store().get(id);
    },
  };
}

function checkId(id: string): void {
  if (isId(id)) return;
  throw new UsageError('invalid_option', `${JSON.stringify(id)} is no id of a record`, {
    hint: 'An id has 1 to 128 characters: letters, digits and _ . : -, the first a letter or digit.',
    facts: { record_id: id },
  });
}
