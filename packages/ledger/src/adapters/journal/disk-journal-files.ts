import { access, mkdir, open, readdir, readFile, rename, unlink } from 'node:fs/promises';
import { join } from 'node:path';
import type { JournalFiles } from '../../ports/journal-files.ts';

/** Called when a step is durable, so that a test can stop the process exactly there. */
export type JournalSeam = (step: 'written' | 'moved' | 'removed') => void;

/** Journals on disk: files and their folder are synced before anybody is told that they are there. */
export function diskJournalFiles(onDurable: JournalSeam = () => undefined): JournalFiles {
  return {
    list: async (directory) => (await unlessMissing(readdir(directory))) ?? [],
    read: (directory, name) => unlessMissing(readFile(join(directory, name))),
    write: async (directory, name, text) => {
      await mkdir(directory, { recursive: true });
      const temporary = join(directory, `.${name.slice(0, 100)}.${process.pid}.${crypto.randomUUID()}.tmp`);
      await writeSynced(temporary, text);
      await rename(temporary, join(directory, name));
      await syncFolder(directory);
      onDurable('written');
    },
    move: async (directory, from, to) => {
      if (await exists(join(directory, to))) return 'taken';
      const moved = await unlessMissing(rename(join(directory, from), join(directory, to)).then(() => true));
      if (moved === null) return 'gone';
      await syncFolder(directory);
      onDurable('moved');
      return 'moved';
    },
    remove: async (directory, name) => {
      await unlessMissing(unlink(join(directory, name)));
      await syncFolder(directory);
      onDurable('removed');
    },
  };
}

async function writeSynced(path: string, text: string): Promise<void> {
  const file = await open(path, 'wx');
  try {
    await file.writeFile(text);
    await file.sync();
  } finally {
    await file.close();
  }
}

/** A new name is durable only once its folder is. */
async function syncFolder(directory: string): Promise<void> {
  const folder = await open(directory, 'r');
  try {
    await folder.sync();
  } finally {
    await folder.close();
  }
}

async function exists(path: string): Promise<boolean> {
  try {
    await access(path);
    return true;
  } catch {
    return false;
  }
}

async function unlessMissing<T>(work: Promise<T>): Promise<T | null> {
  try {
    return await work;
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'ENOENT') return null;
    throw error;
  }
}
