/** Secrets in files, as Docker and Kubernetes mount them. */
import { readFileSync, statSync } from "node:fs";

/** No token, password or key is longer; a whole disk must not be read. */
const longestBytes = 65_536;

/** Space and line ends around a secret are no part of it. Throws an error without the secret. */
export function readSecretFile(file: string): string {
  const secret = readShortFile(file).trim();
  if (secret === "") throw new Error(`${file} is empty`);
  return secret;
}

function readShortFile(file: string): string {
  try {
    const about = statSync(file);
    if (about.isFile() && about.size <= longestBytes) return readFileSync(file, "utf8");
  } catch (cause) {
    const { code } = cause as NodeJS.ErrnoException;
    throw new Error(
      code === "ENOENT" ? `${file} does not exist` : `${file} cannot be read (${code})`,
      {
        cause,
      },
    );
  }
  throw new Error(`${file} is not a file of at most ${longestBytes} bytes`);
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
  } catch (cause) {
    throw new Error(`${name}_FILE: ${(cause as Error).message}`, { cause });
  }
}
