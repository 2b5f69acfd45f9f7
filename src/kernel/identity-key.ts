/** The key with which Restate signs its requests to the worker. */
import { createPrivateKey, createPublicKey, generateKeyPairSync } from "node:crypto";
import bs58 from "bs58";

/** A new private key: ed25519, PKCS #8, PEM. */
export function generateIdentityKey(): string {
  const { privateKey } = generateKeyPairSync("ed25519");
  return privateKey.export({ type: "pkcs8", format: "pem" }).toString();
}

/** The public half of a private key as the SDK takes it: `publickeyv1_` and base58. */
export function publicIdentityOf(privateKey: string): string {
  const key = createPublicKey(createPrivateKey(privateKey));
  // The last 32 bytes of an ed25519 key in SPKI form are the key itself (RFC 8410).
  const raw = key.export({ type: "spki", format: "der" }).subarray(-32);
  return `publickeyv1_${bs58.encode(raw)}`;
}
