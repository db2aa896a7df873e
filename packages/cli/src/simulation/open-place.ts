import { mkdtempSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { NewId } from '@custody/ledger';
import { jsonlWorld } from './jsonl-place.ts';
import type { Place } from './place.ts';
import { memoryWorld, sqliteWorld } from './place.ts';
import type { PlaceKind } from './place-kinds.ts';

/** An empty place of a kind; on disk, in a temporary directory that goes with it. */
export function openPlace(kind: PlaceKind, newId: NewId): Place {
  switch (kind) {
    case 'memory':
      return memoryWorld(newId);
    case 'sqlite':
      return sqliteWorld(temporary());
    case 'jsonl':
      return jsonlWorld(temporary());
  }
}

function temporary(): string {
  return mkdtempSync(join(tmpdir(), 'custody-simulation-'));
}
