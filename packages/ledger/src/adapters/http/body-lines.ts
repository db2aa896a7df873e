import { toLedgerError, toldFailure } from './remote-error.ts';

/**
 * The lines of a body, without their ends. A line that tells of a failure ends it: the status had been sent before.
 *
 * @throws what the server told.
 */
export async function* bodyLines(body: ReadableStream<Uint8Array>): AsyncGenerator<string, void> {
  const decoder = new TextDecoder();
  let rest = '';
  for await (const piece of body as unknown as AsyncIterable<Uint8Array>) {
    const parts = (rest + decoder.decode(piece, { stream: true })).split('\n');
    rest = parts.pop() ?? '';
    for (const line of parts) if (line !== '') yield checkedLine(line);
  }
  if (rest !== '') yield checkedLine(rest);
}

function checkedLine(line: string): string {
  if (!line.startsWith('{"error":') && !line.startsWith('{"outcome":"refused"')) return line;
  const failure = toldFailure(JSON.parse(line));
  if (failure === null) return line;
  throw toLedgerError(failure);
}
