import { createHash, timingSafeEqual } from 'node:crypto';
import { readFile, stat } from 'node:fs/promises';
import { CliError, toError } from '../errors.ts';

/** What a token allows; `write` allows to read, too. */
export type TokenScope = 'read' | 'write';

/** The tokens that are taken now. */
export interface Tokens {
  /** What a token allows; null if nobody gave it out. Takes the same time whichever token it is. */
  scopeOf(token: string): Promise<TokenScope | null>;
}

interface Entry {
  readonly digest: Buffer;
  readonly scope: TokenScope;
}

/** A token that can be guessed is none. */
const MIN_LENGTH = 16;

/** Who may look into the file besides its owner: nobody. */
const OTHERS = 0o077;

/**
 * Opens a file of tokens: one a line, then a space and `read` or `write`; blank lines and lines that begin with `#`
 * say nothing. It is read again when it changes. A changed file that can't be used leaves the tokens as they were, and
 * `onFault` hears of it once.
 *
 * @throws CliError `token_file_unusable`, which names the line and never a token.
 */
export async function openTokens(path: string, onFault: (error: Error) => void): Promise<Tokens> {
  let seen = await versionOf(path);
  let entries = await readEntries(path);
  return {
    scopeOf: async (token) => {
      const version = await versionOf(path).catch(() => 'gone');
      if (version !== seen) {
        seen = version;
        await readEntries(path).then(
          (read) => {
            entries = read;
          },
          (error: unknown) => onFault(toError(error)),
        );
      }
      return find(entries, token);
    },
  };
}

/** Compares with every entry, so that the time tells nothing. */
function find(entries: readonly Entry[], token: string): TokenScope | null {
  const offered = digestOf(token);
  let scope: TokenScope | null = null;
  for (const entry of entries) if (timingSafeEqual(entry.digest, offered)) scope = entry.scope;
  return scope;
}

function digestOf(token: string): Buffer {
  return createHash('sha256').update(token).digest();
}

async function versionOf(path: string): Promise<string> {
  try {
    const { mtimeMs, ctimeMs, size, ino } = await stat(path);
    return [mtimeMs, ctimeMs, size, ino].join(' ');
  } catch (cause) {
    throw unusable(path, { problem: `it can't be read: ${toError(cause).message}`, cause });
  }
}

async function readEntries(path: string): Promise<readonly Entry[]> {
  let text = '';
  try {
    const { mode } = await stat(path);
    if ((mode & OTHERS) !== 0)
      throw unusable(path, { problem: `others may read it (mode ${(mode & 0o777).toString(8)})` });
    text = await readFile(path, 'utf8');
  } catch (cause) {
    if (cause instanceof CliError) throw cause;
    throw unusable(path, { problem: `it can't be read: ${toError(cause).message}`, cause });
  }
  const entries = text.split('\n').flatMap((line, index) => parseLine(path, line.trim(), index + 1));
  if (entries.length === 0) throw unusable(path, { problem: 'it holds no token' });
  return entries;
}

function parseLine(path: string, text: string, line: number): readonly Entry[] {
  if (text === '' || text.startsWith('#')) return [];
  const [token = '', scope = '', ...rest] = text.split(/\s+/);
  if (token.length < MIN_LENGTH)
    throw unusable(path, { problem: `line ${line} has a token of less than ${MIN_LENGTH} characters`, line });
  if ((scope !== 'read' && scope !== 'write') || rest.length > 0)
    throw unusable(path, { problem: `line ${line} must be a token, a space, and read or write`, line });
  return [{ digest: digestOf(token), scope }];
}

function unusable(
  file: string,
  { problem, line, cause }: { readonly problem: string; readonly line?: number; readonly cause?: unknown },
): CliError {
  return new CliError('token_file_unusable', `${file} is no file of tokens: ${problem}`, {
    hint: 'One token a line, a space, and read or write; mode 600. `openssl rand -hex 32` makes a token.',
    facts: { file, ...(line === undefined ? {} : { line }) },
    cause,
  });
}
