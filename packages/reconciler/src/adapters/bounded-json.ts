/** Why a body is no answer: too large, no UTF-8, no JSON. */
class UnreadableBodyError extends Error {
  override readonly name = 'UnreadableBodyError';
}

/**
 * Reads a response's body as JSON, never more than `maxBytes` of it.
 *
 * @throws UnreadableBodyError if it is larger, or no JSON.
 */
export async function readBoundedJson(response: Response, maxBytes: number): Promise<unknown> {
  const chunks: Uint8Array[] = [];
  let size = 0;
  // Leaving the loop by an error cancels the stream, and with it the connection.
  for await (const chunk of (response.body ?? []) as AsyncIterable<Uint8Array>) {
    size += chunk.byteLength;
    if (size > maxBytes) throw new UnreadableBodyError(`the body is larger than ${maxBytes} bytes`);
    chunks.push(chunk);
  }
  try {
    return JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(Buffer.concat(chunks)));
  } catch (cause) {
    throw new UnreadableBodyError('the body is not JSON', { cause });
  }
}
