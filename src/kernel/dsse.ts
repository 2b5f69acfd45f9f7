/** DSSE envelopes (https://github.com/secure-systems-lab/dsse, version 1), signed with Ed25519. */
import {
  createHash,
  createPrivateKey,
  createPublicKey,
  type KeyObject,
  sign,
  verify,
} from "node:crypto";
import { z } from "zod";

/** Base64 that is written in one way only: no other text has the same bytes. */
const Base64 = z
  .base64()
  .refine((text) => Buffer.from(text, "base64").toString("base64") === text, {
    error: "is not the base64 of any bytes",
  });

export const Envelope = z.strictObject({
  payload: Base64,
  payloadType: z.string().min(1),
  signatures: z.tuple([z.strictObject({ keyid: z.string().min(1), sig: Base64 })]),
});
export type Envelope = z.infer<typeof Envelope>;

/** The public half of an Ed25519 key, as a JSON web key. */
const PublicKey = z.object({ kty: z.literal("OKP"), crv: z.literal("Ed25519"), x: z.string() });
export type PublicKey = z.infer<typeof PublicKey>;

/** Returns the bytes that are signed: the type with them, so that they can be taken for nothing else. */
function encodeForSigning(type: string, payload: Buffer): Buffer {
  const head = `DSSEv1 ${Buffer.byteLength(type)} ${type} ${payload.length} `;
  return Buffer.concat([Buffer.from(head), payload]);
}

/** `privateKey`: PEM. */
export function signEnvelope(payloadType: string, text: string, privateKey: string): Envelope {
  const payload = Buffer.from(text);
  const sig = sign(null, encodeForSigning(payloadType, payload), privateKey);
  const keyid = keyIdOf(publicKeyOf(privateKey));
  const signatures: Envelope["signatures"] = [{ keyid, sig: sig.toString("base64") }];
  return { payload: payload.toString("base64"), payloadType, signatures };
}

/** The payload; undefined: the signature is of other bytes, or of another key. The key's id counts, too: it must be right. */
export function openEnvelope(envelope: Envelope, key: PublicKey): Buffer | undefined {
  const [{ keyid, sig }] = envelope.signatures;
  const payload = Buffer.from(envelope.payload, "base64");
  const signed = encodeForSigning(envelope.payloadType, payload);
  const isSigned = verify(null, signed, keyOf(key), Buffer.from(sig, "base64"));
  return isSigned && keyid === keyIdOf(key) ? payload : undefined;
}

function keyOf({ kty, crv, x }: PublicKey): KeyObject {
  return createPublicKey({ key: { kty, crv, x }, format: "jwk" });
}

/** Returns the thumbprint of the key (RFC 7638), which names it. */
export function keyIdOf({ crv, kty, x }: PublicKey): string {
  return createHash("sha256").update(JSON.stringify({ crv, kty, x })).digest("base64url");
}

/** `privateKey`: PEM. */
export function publicKeyOf(privateKey: string): PublicKey {
  return PublicKey.parse(createPublicKey(createPrivateKey(privateKey)).export({ format: "jwk" }));
}

const pem = /-----BEGIN PUBLIC KEY-----[^-]+-----END PUBLIC KEY-----/g;

/** The Ed25519 keys of a file: of PEM, a JSON web key or a set of them. Others are left out; empty: it has none. */
export function readPublicKeys(text: string): PublicKey[] {
  const found: unknown[] = text.includes("-----BEGIN") ? (text.match(pem) ?? []) : keysOf(text);
  return found.flatMap((key) => {
    try {
      const jwk = typeof key === "string" ? createPublicKey(key).export({ format: "jwk" }) : key;
      const known = PublicKey.parse(jwk);
      keyOf(known);
      return [known];
    } catch {
      return [];
    }
  });
}

function keysOf(text: string): unknown[] {
  try {
    const json: unknown = JSON.parse(text);
    return z.object({ keys: z.array(z.unknown()) }).safeParse(json).data?.keys ?? [json];
  } catch {
    return [];
  }
}
