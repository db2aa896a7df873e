import { generateKeyPairSync } from 'node:crypto';

/** A pair of Ed25519 keys as PEM texts. */
export interface SigningKeys {
  readonly privateKey: string;
  readonly publicKey: string;
}

/** Makes a new pair, as openssl would. */
export function signingKeys(): SigningKeys {
  return generateKeyPairSync('ed25519', {
    publicKeyEncoding: { type: 'spki', format: 'pem' },
    privateKeyEncoding: { type: 'pkcs8', format: 'pem' },
  });
}
