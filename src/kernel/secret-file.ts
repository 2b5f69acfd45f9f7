/** Secrets in files, as Docker and Kubernetes mount them. */
import { readFileSync, statSync } from "node:fs";

/** No token, password or key is longer; a whole disk must not be read. */
const longestBytes = 65_536;

/**
 * Space and line ends around a secret are no part of it. Throws an error that says what the file is, and does not name
 * it: where a file is expected a secret may have been given.
 */
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

/**
 * The value of the variable `name`, or of the file that `<name>_FILE` names; undefined when neither is set. An
 * empty variable, as compose files set it, counts as absent. Throws when both are set, or the file has no secret.
 */
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
