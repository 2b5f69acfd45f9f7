/** Writes files as a whole, reads them if they are there, and reads secrets from files. */
import {
  closeSync,
  fchmodSync,
  fsyncSync,
  openSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from "node:fs";
import path from "node:path";

/** After a crash it has the old content or the new; its owner alone reads it. Throws an error that names the file. */
export function writeFileAtomically(file: string, text: string): void {
  const draft = `${file}.${process.pid}.new`;
  try {
    writeDraft(draft, text);
    renameSync(draft, file);
  } catch (error) {
    rmSync(draft, { force: true });
    const { message, code } = error as NodeJS.ErrnoException;
    const named = new Error(`${file} cannot be written: ${message}`, { cause: error });
    throw Object.assign(named, { code });
  }
}

function writeDraft(draft: string, text: string): void {
  // Not what is there: in a folder of strangers that may be a link, to a file that they read.
  rmSync(draft, { force: true });
  const file = openSync(draft, "wx", 0o600);
  try {
    // Not writeSync: on an almost full disk that writes a part of the text without an error.
    writeFileSync(file, text);
    fsyncSync(file);
  } finally {
    closeSync(file);
  }
}

/**
 * Replaces a file by this text, and keeps its mode. False: `isRight` is not true of the draft, and the file is as before.
 * The draft lies beside it, since imports in it are relative.
 */
export async function replaceFile(
  { file, text }: { file: string; text: string },
  isRight: (draft: string) => Promise<boolean>,
): Promise<boolean> {
  const { dir, name, ext } = path.parse(file);
  const draft = path.join(dir, `.${name}.${process.pid}${ext}`);
  const { mode } = statSync(file);
  const opened = openSync(draft, "wx", 0o600);
  try {
    writeFileSync(opened, text, { flush: true });
    if (!(await isRight(draft))) return false;
    // Not by its name, which in a folder of strangers may be a link by now.
    fchmodSync(opened, mode);
    renameSync(draft, file);
    return true;
  } finally {
    closeSync(opened);
    rmSync(draft, { force: true });
  }
}

/** undefined: there is no file. Throws why it cannot be read, which must not pass for damaged content. */
export function readIfThere(file: string): string | undefined {
  try {
    return readFileSync(file, "utf8");
  } catch (cause) {
    const { code } = cause as NodeJS.ErrnoException;
    if (code === "ENOENT" || code === "ENOTDIR") return undefined;
    const advice = code === "EACCES" ? ": run this as the user that owns it" : "";
    throw new Error(`${file} cannot be read (${code})${advice}`, { cause });
  }
}

// Secrets in files, as Docker and Kubernetes mount them.

/** No token, password or key is longer; a whole disk must not be read. */
const longestBytes = 65_536;

/** Without the space around it. Throws without the file's name: where one is expected a secret may have been given. */
export function readSecretFile(file: string): string {
  const secret = readShortFile(file).trim();
  if (secret === "") throw new Error("is empty");
  return secret;
}

function readShortFile(file: string): string {
  try {
    const about = statSync(file);
    if (about.isFile() && about.size <= longestBytes) return readFileSync(file, "utf8");
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    // Without the cause, which has the path.
    throw new Error(code === "ENOENT" ? "does not exist" : `cannot be read (${code})`);
  }
  throw new Error(`is no file of at most ${longestBytes} bytes`);
}

/** The variable, or the file of `<name>_FILE`; undefined: neither, or empty. Throws for both, or an empty file. */
export function readSecretVariable(
  environment: Readonly<Record<string, string | undefined>>,
  name: string,
): string | undefined {
  const value = environment[name]?.trim() || undefined;
  const file = environment[`${name}_FILE`] || undefined;
  if (file === undefined) return value;
  if (value !== undefined) throw new Error(`${name} and ${name}_FILE are both set: unset one`);
  try {
    return readSecretFile(file);
  } catch (error) {
    throw new Error(`${name}_FILE names a file that ${(error as Error).message}`);
  }
}
