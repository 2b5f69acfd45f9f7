/** The secrets of an installation, generated once. */
import { randomBytes } from "node:crypto";
import path from "node:path";
import { generateIdentityKey, publicIdentityOf } from "#kernel/crypto.ts";
import { readIfThere, writeFileAtomically } from "#kernel/files.ts";
import { secretPrefixes } from "#kernel/log.ts";
import { Credentials } from "./contract.ts";

/** Generates the file on the first start. One that cannot be read is an error: new secrets would lock everyone out. */
export function loadCredentials(dataDir: string): Credentials {
  const file = path.join(dataDir, "credentials.json");
  const text = readIfThere(file);
  if (text === undefined) return writeCredentials(file, generateCredentials());
  try {
    return Credentials.parse(JSON.parse(text));
  } catch (error) {
    const advice = "restore it from a backup, or delete it to generate new secrets";
    // Neither the parser's message nor the cause: both may quote a secret.
    throw new Error(`${file} is damaged (${(error as Error).name}); ${advice}`);
  }
}

function writeCredentials(file: string, credentials: Credentials): Credentials {
  writeFileAtomically(file, `${JSON.stringify(credentials, null, 2)}\n`);
  return credentials;
}

function generateCredentials(): Credentials {
  return {
    ingress_token: randomBytes(32).toString("base64url"),
    root_key: newRootKey(),
    sentinel_key: newRootKey(),
    check_key: newRootKey(),
    database_password: randomBytes(32).toString("base64url"),
    restate_identity_key: generateIdentityKey(),
    encryption_key: `generated:${randomBytes(32).toString("base64")}`,
  };
}

/** A new root key, not registered anywhere yet. */
function newRootKey(): string {
  return `${secretPrefixes.rootKey}${randomBytes(32).toString("base64url")}`;
}

export type RootKeyName = "root_key" | "sentinel_key" | "check_key";

export function renewSecret(dataDir: string, name: RootKeyName): string {
  return storeSecret(dataDir, name, newRootKey());
}

/** Stores `secret` under `name`, in the file only: processes that have read the file keep the old secret. */
export function storeSecret(dataDir: string, name: RootKeyName, secret: string): string {
  const changed = { ...loadCredentials(dataDir), [name]: secret };
  writeCredentials(path.join(dataDir, "credentials.json"), changed);
  return secret;
}

/** Writes the identity key where restate-server reads it, and returns the file's path. */
export function writeIdentityKey(dataDir: string, credentials: Credentials): string {
  const file = path.resolve(dataDir, "restate-identity.pem");
  writeFileAtomically(file, credentials.restate_identity_key);
  return file;
}

/** The public half of the identity key, which the worker checks signatures with. */
export function publicIdentity(credentials: Credentials): string {
  return publicIdentityOf(credentials.restate_identity_key);
}
