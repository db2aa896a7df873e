import { CliError, toError } from '../errors.ts';

/** What the file system refused, as an error that names the folder; any other error as it is. */
export function journalFault(thrown: unknown, directory: string): unknown {
  const error = toError(thrown);
  if (!('syscall' in error)) return thrown;
  return new CliError('journal_unusable', `the journals in ${directory} can't be used: ${error.message}`, {
    hint: 'Give a folder that can be read and written; nothing was lost, but nothing was kept either.',
    facts: { path: directory },
    cause: error,
  });
}
