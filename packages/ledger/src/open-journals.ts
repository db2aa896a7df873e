import { diskJournalFiles } from './adapters/journal/disk-journal-files.ts';
import { systemClock } from './adapters/system.ts';
import type { Clock } from './ports/clock.ts';
import type { JournalFiles } from './ports/journal-files.ts';
import type { Journals } from './shell/journals.ts';
import { journals } from './shell/journals.ts';

/** How journals are opened; the defaults are those of a service. */
export interface OpenJournalsOptions {
  readonly clock?: Clock;
  /** @default files that are synced with their folder */
  readonly files?: JournalFiles;
}

/**
 * The journals of a folder: results that a worker handed in are kept here before the ledger is called, so that a
 * crash in between loses none. The folder is made by the first write.
 */
export function openJournals(directory: string, options: OpenJournalsOptions = {}): Journals {
  return journals({
    directory,
    files: options.files ?? diskJournalFiles(),
    clock: options.clock ?? systemClock,
  });
}
