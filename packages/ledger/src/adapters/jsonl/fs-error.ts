/** The `code` of a file system error; empty for anything else. */
export function fsErrorCode(error: unknown): string {
  const code = error instanceof Error && 'code' in error ? error.code : undefined;
  return typeof code === 'string' ? code : '';
}

/** True if the error says that the file or a folder above it is not there. */
export function isMissing(error: unknown): boolean {
  return fsErrorCode(error) === 'ENOENT';
}
