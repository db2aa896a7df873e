import { randomUUID } from 'node:crypto';
import type { FileHandle } from 'node:fs/promises';
import { open, rename, rm } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { CliError } from '../errors.ts';

/** A file that appears whole, in place of what stood there, or not at all. */
export interface NewFile {
  write(text: string): Promise<void>;
  /** Makes it durable and puts it in its place. */
  finish(): Promise<void>;
  /** Leaves nothing behind. */
  abandon(): Promise<void>;
}

/**
 * Begins a file.
 *
 * @throws CliError `output_failed` here, or in any of its calls, when the place can't be written.
 */
export async function openNewFile(path: string): Promise<NewFile> {
  const sibling = join(dirname(path), `.${basename(path)}.${randomUUID()}.tmp`);
  const file = await open(sibling, 'wx', 0o644).catch((error: unknown) => {
    throw failed(path, error);
  });
  const abandon = async () => {
    await file.close().catch(() => undefined);
    await rm(sibling, { force: true });
  };
  const guarded = async (work: () => Promise<unknown>) => {
    try {
      await work();
    } catch (error) {
      await abandon();
      throw failed(path, error);
    }
  };
  return {
    abandon,
    write: (text) => guarded(() => file.writeFile(text)),
    finish: () =>
      guarded(async () => {
        await file.sync();
        await file.close();
        await rename(sibling, path);
        await syncFolder(dirname(path));
      }),
  };
}

async function syncFolder(path: string): Promise<void> {
  const folder: FileHandle = await open(path, 'r');
  try {
    await folder.sync();
  } finally {
    await folder.close();
  }
}

function failed(path: string, cause: unknown): CliError {
  const reason = cause instanceof Error ? cause.message : String(cause);
  return new CliError('output_failed', `${path} can't be written: ${reason}`, {
    hint: 'Give a path in a folder that is there and can be written; what stood there before still does.',
    facts: { path },
    cause,
  });
}
