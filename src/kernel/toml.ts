/** Files of TOML that people write. */
import { readFileSync, statSync } from "node:fs";
import { parse, TomlError } from "smol-toml";
import { isShallow, tooDeep } from "./depth.ts";

const mostBytes = 4 * 1024 * 1024;

/** Throws with the file, the line and the column of the fault, without a word of what the file has there. */
export function readToml(file: string): Record<string, unknown> {
  const found = statSync(file);
  if (!found.isFile() || found.size > mostBytes)
    throw new Error(`${file}: is no file of at most 4 MiB`);
  const text = readFileSync(file, "utf8");
  try {
    const data = parse(text);
    if (isShallow(data)) return data;
  } catch (error) {
    if (!(error instanceof TomlError)) throw error;
    // Not as its cause: the other lines of its message quote the file, which may have secrets.
    const [summary = ""] = error.message.replace("Invalid TOML document: ", "").split("\n");
    throw new Error(`${file}, line ${error.line}, column ${error.column}: ${summary}`);
  }
  throw new Error(`${file}: ${tooDeep}`);
}
