/** The keys of signers without certificates. */
import { createPublicKey, type KeyObject } from "node:crypto";
import { readFileSync } from "node:fs";

export type PublicKey = { file: string; key: KeyObject };

/** Throws an error that names the file when one cannot be read, or has no public key. */
export function readPublicKeys(files: readonly string[]): PublicKey[] {
  return files.map((file) => ({ file, key: readPublicKey(file) }));
}

function readPublicKey(file: string): KeyObject {
  const text = readText(file, "ci.sigstore.public_keys");
  // A private key has a public one in it, but does not belong on this machine.
  if (!/-----BEGIN (?:RSA )?PUBLIC KEY-----/.test(text)) {
    throw new Error(`ci.sigstore.public_keys: ${file} is not a PEM file of a public key`);
  }
  try {
    return createPublicKey(text);
  } catch (cause) {
    throw new Error(`ci.sigstore.public_keys: ${file} has no public key that can be read`, {
      cause,
    });
  }
}

/** Throws an error that names the setting and the file. */
export function readText(file: string, setting: string): string {
  try {
    return readFileSync(file, "utf8");
  } catch (cause) {
    const { code } = cause as NodeJS.ErrnoException;
    throw new Error(`${setting}: ${file} cannot be read (${code})`, { cause });
  }
}
