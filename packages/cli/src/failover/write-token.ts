import { readFile } from 'node:fs/promises';
import { toError, usageError } from '../errors.ts';

/**
 * The first token that may write, of the file that the nodes use: one a line, then a space and its scope.
 *
 * @throws CliError `usage` if the file can't be read or has none; it names no token.
 */
export async function readWriteToken(path: string): Promise<string> {
  const text = await readFile(path, 'utf8').catch((error: unknown) => {
    throw usageError(
      `the file of tokens can't be read: ${toError(error).message}`,
      'Give the file that the nodes were started with.',
      { option: '--token-file', value: path },
    );
  });
  const [token] = text.split('\n').flatMap((line) => /^\s*([^\s#]\S*)\s+write\s*$/.exec(line)?.[1] ?? []);
  if (token !== undefined) return token;
  throw usageError(`${path} has no token that may write`, 'A line of it is TOKEN, a space, and write.', {
    option: '--token-file',
    value: path,
  });
}
