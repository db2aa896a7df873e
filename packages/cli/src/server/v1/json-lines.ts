/** Characters that are gathered before they are sent: one write for some hundred lines. */
const PIECE = 64 * 1024;

/** Values as JSON Lines. */
export async function* linesOf(values: Iterable<object> | AsyncIterable<object>): AsyncGenerator<string> {
  for await (const value of values) yield `${JSON.stringify(value)}\n`;
}

/**
 * Lines as a body, with a last line that tells of a fault on the way: the status has long been sent. `gather` puts
 * lines together; without it each is sent as it comes, for readers who wait for it.
 */
export function toBody(
  lines: AsyncIterator<string>,
  more: {
    readonly first: IteratorResult<string> | null;
    readonly gather: boolean;
    readonly onFault: (error: unknown) => string;
    readonly onEnd: () => void;
  },
): ReadableStream<Uint8Array> {
  const encoder = new TextEncoder();
  let first = more.first;
  const nextOf = async (): Promise<IteratorResult<string>> => {
    const held = first;
    first = null;
    return held ?? (await lines.next());
  };
  return new ReadableStream<Uint8Array>({
    async pull(controller) {
      let piece = '';
      let isOver = false;
      try {
        do {
          const next = await nextOf();
          isOver = next.done === true;
          if (next.done !== true) piece += next.value;
        } while (more.gather && !isOver && piece.length < PIECE);
      } catch (error) {
        piece += more.onFault(error);
        isOver = true;
      }
      if (piece !== '') controller.enqueue(encoder.encode(piece));
      if (!isOver) return;
      controller.close();
      more.onEnd();
    },
    async cancel() {
      try {
        await lines.return?.();
      } finally {
        more.onEnd();
      }
    },
  });
}
