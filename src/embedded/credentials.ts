/** The secrets of an installation, generated once. */
import { randomBytes } from "node:crypto";
import { existsSync, readFileSync } from "node:fs";
import path from "node:path";
import { writeFileAtomically } from "#kernel/atomic-file.ts";
import { generateIdentityKey, publicIdentityOf } from "#kernel/identity-key.ts";
import { Credentials } from "./contract.ts";

/**
 * Reads `<dataDir>/credentials.json`, or generates it on the first start, and what a newer version
 * needs beside it. A file that cannot be read is an error: new secrets in its place would lock
 * everyone out.
 */
export function loadCredentials(dataDir: string): Credentials {
  const file = path.join(dataDir, "credentials.json");
  const generated = generateCredentials();
  const kept = existsSync(file) ? readCredentials(file, generated) : generated;
  const text = `${JSON.stringify(kept, null, 2)}\n`;
  if (!existsSync(file) || readFileSync(file, "utf8") !== text) writeFileAtomically(file, text);
  return kept;
}

/** `generated` stands in for what the file, if it is an older one, does not have yet. */
function readCredentials(file: string, { encryption_key }: Credentials): Credentials {
  try {
    return Credentials.parse({ encryption_key, ...JSON.parse(readFileSync(file, "utf8")) });
  } catch (error) {
    const advice = "restore it from a backup, or delete it to generate new secrets";
    // Neither the parser's message nor the cause: both may quote a secret.
    throw new Error(`${file} is damaged (${(error as Error).name}); ${advice}`);
  }
}

function generateCredentials(): Credentials {
  return {
    ingress_token: randomBytes(32).toString("base64url"),
    root_key: `vedette_root_${randomBytes(32).toString("base64url")}`,
    database_password: randomBytes(32).toString("base64url"),
    restate_identity_key: generateIdentityKey(),
    encryption_key: `generated:${randomBytes(32).toString("base64")}`,
  };
}

/** Writes the identity key where restate-server reads it, and answers the file's path. */
export function writeIdentityKey(dataDir: string, credentials: Credentials): string {
  const file = path.resolve(dataDir, "restate-identity.pem");
  writeFileAtomically(file, credentials.restate_identity_key);
  return file;
}

/** The public half of the identity key, which the worker checks signatures with. */
export function publicIdentity(credentials: Credentials): string {
  return publicIdentityOf(credentials.restate_identity_key);
}
