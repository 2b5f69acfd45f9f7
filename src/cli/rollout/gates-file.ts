/** Reads the gates of a rollout from a file: a list in YAML or JSON, as `gates` of a request. */
import { readFileSync } from "node:fs";
import { parse } from "yaml";
import { usageError } from "#cli/print.ts";
import { wordsOf } from "#kernel/faults.ts";
import { type Gate, Gates } from "#rollout/gates/contract.ts";

/** undefined: no file is named. Throws for one that is not readable, or has something else. */
export function readGatesFile(file: string | undefined): Gate[] | undefined {
  if (file === undefined) return undefined;
  const result = Gates.safeParse(readRows(file));
  if (result.success) return result.data;
  const [fault] = result.error.issues;
  const where = fault?.path.join(".") || "the list";
  throw usageError(`--gates ${file}: ${where}: ${fault && wordsOf(fault)} (docs/gates.md)`);
}

function readRows(file: string): unknown {
  try {
    return parse(readFileSync(file, "utf8"));
  } catch (error) {
    const [first] = (error as Error).message.split("\n");
    throw usageError(`--gates ${file}: ${first}`);
  }
}
