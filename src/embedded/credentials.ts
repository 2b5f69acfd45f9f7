/** The secrets of an installation, generated once. */
import { createPrivateKey, createPublicKey, generateKeyPairSync, randomBytes } from "node:crypto";
import { existsSync, readFileSync } from "node:fs";
import path from "node:path";
import bs58 from "bs58";
import { writeFileAtomically } from "#kernel/atomic-file.ts";
import { Credentials } from "./contract.ts";

/**
 * Reads `<dataDir>/credentials.json`, or generates it on the first start. A file that cannot be
 * read is an error: new secrets in its place would lock everyone out.
 */
export function loadCredentials(dataDir: string): Credentials {
  const file = path.join(dataDir, "credentials.json");
  if (existsSync(file)) return readCredentials(file);
  const credentials = generateCredentials();
  writeFileAtomically(file, `${JSON.stringify(credentials, null, 2)}\n`);
  return credentials;
}

function readCredentials(file: string): Credentials {
  try {
    return Credentials.parse(JSON.parse(readFileSync(file, "utf8")));
  } catch (error) {
    const advice = "restore it from a backup, or delete it to generate new secrets";
    // Neither the parser's message nor the cause: both may quote a secret.
    throw new Error(`${file} is damaged (${(error as Error).name}); ${advice}`);
  }
}

function generateCredentials(): Credentials {
  const { privateKey } = generateKeyPairSync("ed25519");
  return {
    ingress_token: randomBytes(32).toString("base64url"),
    root_key: `vedette_root_${randomBytes(32).toString("base64url")}`,
    database_password: randomBytes(32).toString("base64url"),
    restate_identity_key: privateKey.export({ type: "pkcs8", format: "pem" }).toString(),
  };
}

/** Writes the identity key where restate-server reads it, and answers the file's path. */
export function writeIdentityKey(dataDir: string, credentials: Credentials): string {
  const file = path.resolve(dataDir, "restate-identity.pem");
  writeFileAtomically(file, credentials.restate_identity_key);
  return file;
}

/** The public half of the identity key as the SDK takes it: `publickeyv1_` and base58. */
export function publicIdentity(credentials: Credentials): string {
  const key = createPublicKey(createPrivateKey(credentials.restate_identity_key));
  // The last 32 bytes of an ed25519 key in SPKI form are the key itself (RFC 8410).
  const raw = key.export({ type: "spki", format: "der" }).subarray(-32);
  return `publickeyv1_${bs58.encode(raw)}`;
}
