import { z } from 'zod';
import { CheckpointError } from '../errors.ts';
import { isSignedBy, keyFingerprint, signText } from './signature.ts';

/** What the holder of a key vouches for: where a ledger stood at one moment. */
export interface CheckpointClaims {
  /** Hash of the ledger's first event, which no other ledger has; null while there is none. */
  readonly ledger_id: string | null;
  /** `seq` and chain hash of the newest event; 0 and 64 zeros for an empty ledger. */
  readonly seq: number;
  readonly hash: string;
  readonly epoch: number;
  /** The store's incarnation, for people: a restored or rebuilt store may have another one. */
  readonly incarnation: string;
  /** When it was signed, by the ledger's clock; ISO 8601, UTC, milliseconds. */
  readonly at: string;
  /** The list of frozen fields that was written with it; null if none was. */
  readonly rows: { readonly count: number; readonly hash: string } | null;
}

/** A signed checkpoint, as it stands in its file and in the event `ledger.checkpoint`. */
export interface Checkpoint extends CheckpointClaims {
  readonly format: typeof CHECKPOINT_FORMAT;
  /** Fingerprint of the public key: sha256 of its DER form. */
  readonly key: string;
  /** Ed25519, base64, over {@link signedText}. */
  readonly signature: string;
}

/** Why a checkpoint vouches for nothing, in the words of `verify`. */
export interface CheckpointFault {
  readonly code: 'checkpoint_wrong_key' | 'checkpoint_altered';
  readonly message: string;
}

const CHECKPOINT_FORMAT = 'custody-checkpoint-1';

const hex = z.string().regex(/^[0-9a-f]{64}$/);

const SCHEMA = z.strictObject({
  format: z.literal(CHECKPOINT_FORMAT),
  ledger_id: hex.nullable(),
  seq: z.int().min(0),
  hash: hex,
  epoch: z.int().min(0),
  incarnation: z.string().max(128),
  at: z.string().max(64),
  rows: z.strictObject({ count: z.int().min(0), hash: hex }).nullable(),
  key: hex,
  signature: z.string().max(128),
});

/** Signs where a ledger stands. @throws CheckpointError `invalid_key`. */
export function signCheckpoint(claims: CheckpointClaims, privateKeyPem: string): Checkpoint {
  const { signature, key } = signText(signedText(claims), privateKeyPem);
  return { format: CHECKPOINT_FORMAT, ...claims, key, signature };
}

/**
 * What is signed: the format in a line, then the claims as one line of JSON with their keys in this order. Who
 * signs is not among them: the key is what the signature is checked with.
 */
function signedText({ ledger_id, seq, hash, epoch, incarnation, at, rows }: CheckpointClaims): string {
  const told = rows === null ? null : { count: rows.count, hash: rows.hash };
  return `${CHECKPOINT_FORMAT}\n${JSON.stringify({ ledger_id, seq, hash, epoch, incarnation, at, rows: told })}`;
}

/**
 * Reads a checkpoint.
 *
 * @throws CheckpointError `invalid_checkpoint` naming the field, if the text is none.
 */
export function parseCheckpoint(text: string): Checkpoint {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch (cause) {
    throw invalid('it is not JSON', null, cause);
  }
  return toCheckpoint(value);
}

/** As {@link parseCheckpoint}, of a value that was read already. */
export function toCheckpoint(value: unknown): Checkpoint {
  const parsed = SCHEMA.safeParse(value);
  if (parsed.success) return parsed.data;
  const issue = parsed.error.issues[0];
  const path = issue?.path.map(String).join('.') ?? '';
  throw invalid(
    `${path === '' ? 'the whole' : path} is wrong: ${issue?.message ?? ''}`,
    path === '' ? null : path,
  );
}

/**
 * Why the checkpoint vouches for nothing under this key; null if it does.
 *
 * @throws CheckpointError `invalid_key`.
 */
export function checkpointFault(checkpoint: Checkpoint, publicKeyPem: string): CheckpointFault | null {
  const given = keyFingerprint(publicKeyPem);
  if (isSignedBy(signedText(checkpoint), checkpoint.signature, publicKeyPem)) {
    if (checkpoint.key === given) return null;
    return {
      code: 'checkpoint_altered',
      message: `it names the key ${checkpoint.key}, which did not sign it`,
    };
  }
  if (checkpoint.key !== given) {
    return {
      code: 'checkpoint_wrong_key',
      message: `the checkpoint was signed with the key ${checkpoint.key}, the given one is ${given}`,
    };
  }
  return { code: 'checkpoint_altered', message: 'the checkpoint does not say what was signed' };
}

function invalid(problem: string, field: string | null, cause?: unknown): CheckpointError {
  return new CheckpointError('invalid_checkpoint', `that is no checkpoint: ${problem}`, {
    hint: 'Give the file that `custody ledger checkpoint` wrote.',
    facts: { field },
    cause,
  });
}
