/** Reads parts of a rollout's request from files, in YAML, of which JSON is a part. */
import { readFileSync, statSync } from "node:fs";
import type { z } from "zod";
import { usageError } from "#cli/print.ts";
import { parseYaml } from "#kernel/documents.ts";
import { faultLines } from "#kernel/faults.ts";
import { Gates } from "#rollout/gates/contract.ts";
import { ReplayPolicy } from "#rollout/replay/contract.ts";

/** The list `gates` of a request. undefined: no file is named. Throws for one that is not readable, or has something else. */
export function readGatesFile(file: string | undefined): Gates | undefined {
  if (file === undefined) return undefined;
  const label = `--gates ${file}`;
  return parsed(readDocument(file, label), Gates, {
    whole: "the list",
    toText: (line) => `${label}: ${line} (docs/gates.md)`,
  });
}

/** The policy of a replay; an empty file is the rollout's own. */
export function readPolicyFile(file: string): ReplayPolicy {
  return parsed(readDocument(file, file) ?? {}, ReplayPolicy, {
    whole: "",
    toText: (line) => `${file}: ${line}`,
  });
}

const mostBytes = 65_536;

function readDocument(file: string, label: string): unknown {
  const text = readText(file, label);
  try {
    return parseYaml(text);
  } catch (error) {
    throw usageError(`${label}: is neither YAML nor JSON: ${(error as Error).message}`);
  }
}

function readText(file: string, label: string): string {
  try {
    if (statSync(file).size <= mostBytes) return readFileSync(file, "utf8");
  } catch (error) {
    throw usageError(`${label}: ${(error as Error).message}`);
  }
  throw usageError(`${label}: has more than 64 KiB`);
}

/** `whole`: how a fault names the document itself. */
function parsed<Value>(
  data: unknown,
  schema: z.ZodType<Value>,
  { whole, toText }: { whole: string; toText: (line: string) => string },
): Value {
  const read = schema.safeParse(data);
  if (read.success) return read.data;
  throw usageError(faultLines(read.error, whole).map(toText).join("\n"));
}
