/** Certificates, keys and files of a kubeconfig: a fault names the file, and quotes nothing of it. */
import { createPrivateKey, X509Certificate } from "node:crypto";
import { readFileSync, type Stats, statSync } from "node:fs";
import path from "node:path";

/** A PEM text, or a file that has one: its absolute path. */
export type Pem = { data: Buffer } | { file: string };

/** Returns the data of the entry itself, or else the file that it names, unread. Throws when the data is no PEM. */
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

/** No kubeconfig, certificate or token is larger; a disk or a log must not be read. */
const largestBytes = 1_048_576;

/** Undefined when there is none. Throws when it cannot be read, is no regular file, or is larger than 1 MiB. */
export function readShortFile(file: string): Buffer | undefined {
  const about = attempt(file, () => statSync(file));
  if (about === undefined) return undefined;
  judge(file, about);
  return attempt(file, () => readFileSync(file));
}

/** Does the same as `readShortFile`, and throws when there is none. */
export function readNeededFile(file: string): Buffer {
  const bytes = readShortFile(file);
  if (bytes === undefined) throw new Error(`${file} does not exist`);
  return bytes;
}

/** A pipe or a device would keep us waiting for ever. */
function judge(file: string, about: Stats): void {
  if (!about.isFile()) throw new Error(`${file} is no regular file`);
  if (about.size > largestBytes) throw new Error(`${file} is larger than 1 MiB`);
}

function attempt<Value>(file: string, read: () => Value): Value | undefined {
  try {
    return read();
  } catch (cause) {
    const { code } = cause as NodeJS.ErrnoException;
    if (code === "ENOENT" || code === "ENOTDIR") return undefined;
    const advice = code === "EACCES" ? ": let the user that runs Vedette read it" : "";
    throw new Error(`${file} cannot be read (${code})${advice}`, { cause });
  }
}
