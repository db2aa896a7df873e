import type { KeyObject } from 'node:crypto';
import { createPrivateKey, createPublicKey, sign, verify } from 'node:crypto';
import { CheckpointError } from '../errors.ts';
import { chainHash } from './event-hash.ts';

/** A signature, and the key that it can be checked with. */
export interface Signed {
  /** Base64. */
  readonly signature: string;
  /** {@link keyFingerprint} of the public key. */
  readonly key: string;
}

/** Ed25519 takes the text itself; there is no digest to choose. */
const NO_DIGEST = null;

/**
 * Signs a text.
 *
 * @throws CheckpointError `invalid_key` if the PEM text holds no Ed25519 private key.
 */
export function signText(text: string, privateKeyPem: string): Signed {
  const key = readKey(() => createPrivateKey(privateKeyPem), 'private');
  return {
    signature: sign(NO_DIGEST, Buffer.from(text), key).toString('base64'),
    key: fingerprintOf(createPublicKey(key)),
  };
}

/**
 * True if the signature is that of exactly this text under this key.
 *
 * @throws CheckpointError `invalid_key` if the PEM text holds no Ed25519 public key.
 */
export function isSignedBy(text: string, signature: string, publicKeyPem: string): boolean {
  const bytes = Buffer.from(signature, 'base64');
  return (
    // Node skips what is no base64; a signature has one spelling, so that no altered one passes.
    bytes.toString('base64') === signature &&
    verify(NO_DIGEST, Buffer.from(text), publicKey(publicKeyPem), bytes)
  );
}

/**
 * The name of a public key: sha256 of its DER form, as `openssl pkey -pubin -outform DER | sha256sum` prints it.
 *
 * @throws CheckpointError `invalid_key` if the PEM text holds no Ed25519 public key.
 */
export function keyFingerprint(publicKeyPem: string): string {
  return fingerprintOf(publicKey(publicKeyPem));
}

function publicKey(pem: string): KeyObject {
  return readKey(() => createPublicKey(pem), 'public');
}

function fingerprintOf(key: KeyObject): string {
  return chainHash('', key.export({ type: 'spki', format: 'der' }));
}

function readKey(read: () => KeyObject, kind: 'private' | 'public'): KeyObject {
  let found = '';
  try {
    const key = read();
    if (key.asymmetricKeyType === 'ed25519') return key;
    found = ` but one of the type ${String(key.asymmetricKeyType)}`;
  } catch {
    // The reason that OpenSSL gives says nothing to the reader; that it is no key is what matters.
  }
  throw new CheckpointError('invalid_key', `that is no Ed25519 ${kind} key in PEM form${found}`, {
    hint: 'Make one: openssl genpkey -algorithm ed25519 -out key.pem; openssl pkey -in key.pem -pubout -out public.pem',
    facts: { kind },
  });
}
