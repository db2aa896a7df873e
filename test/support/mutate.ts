import type { Random } from './root-random.ts';

/** Pieces that readers of JSON, of lines and of numbers stumble over. */
const PIECES: readonly [string, ...string[]] = [
  ...(['\u0000', '\n', '\r', '\u2028', '\ufeff', '"', '\\', '{', '}', '[', ']', ',', ':'] as const),
  ...(['\\ud800', '\\u0000', '"__proto__":{},', '"constructor":1,', '"type":"run.settled",'] as const),
  ...(['1e400', '-0', '9007199254740993', '1'.repeat(400), 'NaN', 'null', 'true', '""'] as const),
  '['.repeat(5000),
  '{"a":'.repeat(2000),
  'x'.repeat(4096),
  '../../../etc/passwd',
  '%00',
  '\u001b[2J',
];

/** One to four damages to a text, as cut writes, bad disks and hostile writers leave them. */
export function mutated(
  random: Random,
  source: string | Uint8Array,
  other: string | Uint8Array = '',
): Buffer {
  let bytes: Buffer = Buffer.from(source as Uint8Array);
  const damages = random.int(1, 4);
  for (let damage = 0; damage < damages; damage += 1) bytes = damaged(random, bytes, other);
  return bytes;
}

function damaged(random: Random, bytes: Buffer, other: string | Uint8Array): Buffer {
  const at = random.int(0, bytes.length);
  const end = Math.min(bytes.length, at + random.int(1, 16));
  const joined = (middle: Uint8Array, after = end) =>
    Buffer.concat([bytes.subarray(0, at), middle, bytes.subarray(after)]);
  switch (random.int(0, 7)) {
    case 0: {
      const flipped = Buffer.from(bytes);
      if (at < flipped.length) flipped[at] = (flipped[at] ?? 0) ^ random.int(1, 255);
      return flipped;
    }
    case 1:
      return joined(Buffer.alloc(0));
    case 2:
      return joined(Buffer.from(random.pick(PIECES)), at);
    case 3:
      return joined(Buffer.from(random.pick(PIECES)));
    case 4:
      return bytes.subarray(0, at);
    case 5:
      return joined(bytes.subarray(at, end), at);
    case 6:
      return joined(Buffer.from(other as Uint8Array).subarray(random.int(0, other.length)), bytes.length);
    default:
      return joined(Buffer.from(Array.from({ length: random.int(1, 8) }, () => random.int(0, 255))), at);
  }
}
