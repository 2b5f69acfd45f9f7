/** Certificates and keys of a kubeconfig. */
import { createPrivateKey, X509Certificate } from "node:crypto";
import path from "node:path";
import { readNeededFile } from "./short-file.ts";

/** A PEM text, or a file that has one: its absolute path. */
export type Pem = { data: Buffer } | { file: string };

/** What is in the file itself comes before what it names. Throws when it is no PEM; a named file is not read yet. */
export function pemOf<Name extends string>(
  of: Partial<Record<Name | `${Name}-data`, string | undefined>>,
  name: Name,
  directory: string,
): Pem | undefined {
  const data = of[`${name}-data`];
  if (data !== undefined) {
    return { data: requirePem(Buffer.from(data, "base64"), `its ${name}-data`, " in base64") };
  }
  const file = of[name];
  return file === undefined ? undefined : { file: path.resolve(directory, file) };
}

/** Throws an error that names the file. */
export function readPem(pem: Pem | undefined): Buffer | undefined {
  if (pem === undefined) return undefined;
  return "data" in pem ? pem.data : requirePem(readNeededFile(pem.file), pem.file);
}

function requirePem(bytes: Buffer, where: string, how = ""): Buffer {
  if (!isPem(bytes)) throw new Error(`${where} is no PEM${how}`);
  return bytes;
}

export function isPem(text: Buffer | string): boolean {
  return text.includes("-----BEGIN ");
}

/** Files that are replaced one after the other do not belong together for a moment. Throws if so. */
export function checkPair(cert: Buffer | undefined, key: Buffer | undefined): void {
  if (cert === undefined || key === undefined) return;
  if (!belongTogether(cert, key)) {
    throw new Error("the client certificate and its key do not belong together");
  }
}

function belongTogether(cert: Buffer, key: Buffer): boolean {
  try {
    return new X509Certificate(cert).checkPrivateKey(createPrivateKey(key));
  } catch {
    // OpenSSL's words say nothing to an operator.
    throw new Error("the client certificate or its key is damaged, or the key has a passphrase");
  }
}
