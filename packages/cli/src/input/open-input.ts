import { createReadStream } from 'node:fs';
import { readFile } from 'node:fs/promises';
import type { CommandContext } from '../command-context.ts';
import { CliError } from '../errors.ts';

/** Bytes read at once from a file: large enough that a commit holds many events, small enough to bound memory. */
const PIECE_BYTES = 256 * 1024;

/**
 * The bytes of a file, or of stdin for `-` or no name.
 *
 * @throws CliError `input_unreadable` while it is read.
 */
export async function* openInput(
  context: CommandContext,
  file: string | undefined,
): AsyncGenerator<Uint8Array, void> {
  const isStdin = file === undefined || file === '-';
  const source = isStdin ? context.stdin() : createReadStream(file, { highWaterMark: PIECE_BYTES });
  try {
    for await (const piece of source as AsyncIterable<Uint8Array>) yield piece;
  } catch (error) {
    throw unreadable(isStdin ? 'stdin' : file, error);
  }
}

/**
 * A small file as text.
 *
 * @throws CliError `input_unreadable` if it can't be read or is no UTF-8.
 */
export async function readTextFile(file: string): Promise<string> {
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(await readFile(file));
  } catch (error) {
    throw unreadable(file, error);
  }
}

function unreadable(file: string, cause: unknown): CliError {
  const reason = cause instanceof Error ? cause.message : String(cause);
  return new CliError('input_unreadable', `${file} can't be read: ${reason}`, {
    hint: 'Give the path of a readable file, or - for stdin.',
    facts: { file },
    cause,
  });
}
