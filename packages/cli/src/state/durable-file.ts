import { open, rename, unlink } from 'node:fs/promises';
import { join } from 'node:path';

/**
 * Writes a file of the state folder so that a reader sees the old text or the new one, also after a power cut: a
 * temporary file in the same folder, write, fsync, rename, fsync of the folder.
 */
export async function writeDurably(folder: string, name: string, text: string): Promise<void> {
  const temporary = join(folder, `.${name}.${process.pid}.${crypto.randomUUID()}.tmp`);
  try {
    await writeSynced(temporary, text);
    await rename(temporary, join(folder, name));
  } catch (error) {
    await unlink(temporary).catch(() => undefined);
    throw error;
  }
  await syncFolder(folder);
}

async function writeSynced(path: string, text: string): Promise<void> {
  const file = await open(path, 'wx', 0o644);
  try {
    await file.writeFile(text);
    await file.sync();
  } finally {
    await file.close();
  }
}

/** Makes the names in a folder durable: a new one is only once its folder is. */
export async function syncFolder(folder: string): Promise<void> {
  const handle = await open(folder, 'r');
  try {
    await handle.sync();
  } finally {
    await handle.close();
  }
}
