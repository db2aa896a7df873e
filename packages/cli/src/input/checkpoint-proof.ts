import type { CheckpointProof } from '@custody/ledger';
import type { CommandContext } from '../command-context.ts';
import { usageError } from '../errors.ts';
import { byteLines } from './byte-lines.ts';
import { openInput, readTextFile } from './open-input.ts';

/** The files that `verify` is given to hold against the ledger. */
export interface ProofFiles {
  readonly checkpoint?: string | undefined;
  readonly publicKey?: string | undefined;
  readonly rows?: string | undefined;
}

/**
 * Reads the files; null if none was given.
 *
 * @throws CliError `usage` if one is given without the one that it needs, `input_unreadable`.
 * @throws CheckpointError `invalid_checkpoint`.
 */
export async function checkpointProof(
  context: CommandContext,
  { checkpoint, publicKey, rows }: ProofFiles,
): Promise<CheckpointProof | null> {
  if (publicKey === undefined) {
    if (checkpoint === undefined && rows === undefined) return null;
    throw usageError(
      'a checkpoint is checked with a key: --public-key is missing',
      'Give the public key that you trust: --public-key public.pem.',
      { option: '--public-key' },
    );
  }
  if (rows !== undefined && checkpoint === undefined)
    throw usageError(
      'a list of rows belongs to a checkpoint: --checkpoint is missing',
      'Give the checkpoint that was written with the list: --checkpoint checkpoint.json.',
      { option: '--checkpoint' },
    );
  const { parseCheckpoint } = await import('@custody/ledger');
  return {
    publicKey: await readTextFile(publicKey),
    ...(checkpoint === undefined ? {} : { checkpoint: parseCheckpoint(await readTextFile(checkpoint)) }),
    ...(rows === undefined ? {} : { frozenRows: linesOf(context, rows) }),
  };
}

async function* linesOf(context: CommandContext, file: string): AsyncGenerator<string, void> {
  for await (const lines of byteLines(openInput(context, file))) for (const { text } of lines) yield text;
}
