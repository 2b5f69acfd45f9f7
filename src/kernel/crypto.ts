/** Seals values and makes keys of identity. */
import {
  createCipheriv,
  createDecipheriv,
  createHmac,
  createPrivateKey,
  createPublicKey,
  type Decipheriv,
  generateKeyPairSync,
  randomBytes,
  X509Certificate,
} from "node:crypto";
import bs58 from "bs58";
import { z } from "zod";

// Sealed values: whoever keeps one for us can neither read nor change it, nor use it for another purpose.

const Envelope = z.object({ endsAtMs: z.number(), value: z.unknown() });

type Sealer<Value> = {
  /** The value as text of the base64url alphabet; nobody can open it from `endsAtMs` on. */
  seal: (value: Value, endsAtMs: number) => string;
  /** undefined: this is not sealed by us for this purpose, or its time is over. */
  open: (text: string, nowMs: number) => Value | undefined;
};

const cipher = "aes-256-gcm";
const sizes = { iv: 12, tag: 16 };

/** Texts from outside that are longer are not ours. */
const longestText = 8_192;

/** Each `purpose` has a key of its own, which is derived from the secret. */
export function createSealer<Schema extends z.ZodType>(
  schema: Schema,
  { secret, purpose }: { secret: Uint8Array; purpose: string },
): Sealer<z.infer<Schema>> {
  const key = createHmac("sha256", secret).update(`vedette seal ${purpose}`).digest();
  return {
    seal: (value, endsAtMs) => encrypt(JSON.stringify({ endsAtMs, value }), key),
    open: (text, nowMs) => {
      const json = text.length > longestText ? undefined : decrypt(text, key);
      if (json === undefined) return undefined;
      const { endsAtMs, value } = Envelope.parse(JSON.parse(json));
      // Another version may have sealed it with other fields.
      return endsAtMs > nowMs ? schema.safeParse(value).data : undefined;
    },
  };
}

function encrypt(text: string, key: Uint8Array): string {
  const iv = randomBytes(sizes.iv);
  const sealing = createCipheriv(cipher, key, iv);
  const content = Buffer.concat([sealing.update(text, "utf8"), sealing.final()]);
  return Buffer.concat([iv, sealing.getAuthTag(), content]).toString("base64url");
}

function decrypt(text: string, key: Uint8Array): string | undefined {
  const bytes = Buffer.from(text, "base64url");
  // Other texts that are decoded to the same bytes are not accepted.
  const isExact = bytes.toString("base64url") === text;
  if (!isExact || bytes.length < sizes.iv + sizes.tag) return undefined;
  const opening = createDecipheriv(cipher, key, bytes.subarray(0, sizes.iv), {
    authTagLength: sizes.tag,
  });
  opening.setAuthTag(bytes.subarray(sizes.iv, sizes.iv + sizes.tag));
  return finish(opening, bytes.subarray(sizes.iv + sizes.tag));
}

function finish(opening: Decipheriv, content: Uint8Array): string | undefined {
  try {
    return Buffer.concat([opening.update(content), opening.final()]).toString();
  } catch {
    return undefined;
  }
}

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

/** The certificates of a text in PEM; empty: there are none. Throws for one that cannot be read. */
export function readCertificates(pem: string): X509Certificate[] {
  const blocks = pem.match(/-----BEGIN CERTIFICATE-----[^-]+-----END CERTIFICATE-----/g) ?? [];
  return blocks.map((block) => new X509Certificate(block));
}
