/** The values of the secrets that checks name as `{{NAME}}`, read at every use: a new value needs no restart. */
import path from "node:path";
import { readSecretFile } from "#kernel/secret-file.ts";
import type { ReadSecret } from "./request.ts";

/**
 * A secret is that of `given`, the settings, if it has the name and a value; else the environment's
 * `VEDETTE_SECRET_<NAME>`, the file that `VEDETTE_SECRET_<NAME>_FILE` names, or the file of its name in
 * `directory` (empty: there is none). Space and line ends around it are no part of it, wherever it comes from.
 * Other variables are no secrets of checks, which go to other servers.
 */
export function createReadSecret(
  given: Readonly<Record<string, string>>,
  directory: string,
  environment: NodeJS.ProcessEnv = process.env,
): ReadSecret {
  return (name) => {
    const known = Object.hasOwn(given, name) ? given[name]?.trim() : "";
    const file = environment[`VEDETTE_SECRET_${name}_FILE`];
    return (
      known ||
      // Of a secret whose name ends so, the variable would name a file instead.
      (!name.endsWith("_FILE") && environment[`VEDETTE_SECRET_${name}`]?.trim()) ||
      (file && readIfUsable(file)) ||
      (directory && readIfUsable(path.join(directory, name))) ||
      undefined
    );
  };
}

/** Undefined for a file that is absent, unreadable, empty or too long: the check is off until it is there. */
function readIfUsable(file: string): string | undefined {
  try {
    return readSecretFile(file);
  } catch {
    return undefined;
  }
}
