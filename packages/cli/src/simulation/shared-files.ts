import type { JournalFiles } from '@custody/ledger';
import { compareCodePoints } from '@custody/ledger';
import type { Life } from './life.ts';

/** A folder that outlives the processes that use it; what is in it is durable. */
export type SharedFolder = Map<string, Uint8Array>;

/** A folder as one process has it. */
export function livedFiles(folder: SharedFolder, life: Life): JournalFiles {
  return {
    list: () => life.call('read', async () => [...folder.keys()].sort(compareCodePoints)),
    read: (_directory, name) => life.call('read', async () => folder.get(name) ?? null),
    write: (_directory, name, text) =>
      life.call('write', async () => {
        folder.set(name, new TextEncoder().encode(text));
      }),
    move: (_directory, from, to) =>
      life.call('write', async () => {
        const content = folder.get(from);
        if (folder.has(to)) return 'taken';
        if (content === undefined) return 'gone';
        folder.set(to, content);
        folder.delete(from);
        return 'moved';
      }),
    remove: (_directory, name) =>
      life.call('write', async () => {
        folder.delete(name);
      }),
  };
}
