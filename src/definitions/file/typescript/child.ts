/** Loads a file of definitions in a process of its own, and reports its data. */
import { readFileSync, writeFileSync } from "node:fs";
import { registerHooks, stripTypeScriptTypes, syncBuiltinESMExports } from "node:module";
import os from "node:os";
import path from "node:path";
import { pathToFileURL } from "node:url";
import v8 from "node:v8";
import { compileFunction } from "node:vm";
import type { Path } from "#definitions/file/offsets.ts";
import type { LoadResult, Unfit } from "./result.ts";

const file = path.resolve(process.argv[2] ?? "");
const address = pathToFileURL(file).href;
const mostFaults = 100;
const deepest = 100;

// Node's permissions do not stop these: signals and priorities of other processes, and what writes files by a setting.
for (const name of ["kill", "_kill", "_debugProcess", "_debugEnd", "report"]) {
  Reflect.deleteProperty(process, name);
}
Reflect.deleteProperty(os, "setPriority");
Reflect.deleteProperty(v8, "setFlagsFromString");
syncBuiltinESMExports();

// Also where the package is not installed next to the file, as in a container.
const helper = import.meta.resolve("#definitions/define-config.ts");
registerHooks({
  resolve: (specifier, context, next) => {
    if (specifier === "vedette/config") return { url: helper, shortCircuit: true };
    const found = next(specifier, context);
    return found.url === address ? { ...found, ...formatOf(file) } : found;
  },
});

report(await load());
// Timers and connections of the file must not keep the process alive.
process.exit();

async function load(): Promise<LoadResult> {
  try {
    const { default: data = null } = (await import(address)) as { default?: unknown };
    const unfit = findUnfit(data);
    return { kind: "loaded", data: unfit.length === 0 ? data : null, unfit, ...strip() };
  } catch (error) {
    return describe(error);
  }
}

/** `npm init` makes a folder one of CommonJS, and a file that is none is a module there all the same. */
function formatOf(name: string): { format?: "module" | "module-typescript" } {
  if (!/\.(?:ts|js)$/.test(name) || isCommonJs(name)) return {};
  return { format: name.endsWith(".ts") ? "module-typescript" : "module" };
}

/** Only modules have `import` and `export`, wherever on a line. */
function isCommonJs(name: string): boolean {
  const text = readFileSync(name, "utf8");
  try {
    compileFunction(name.endsWith(".ts") ? stripTypeScriptTypes(text) : text);
    return true;
  } catch {
    return false;
  }
}

function strip(): { code?: string } {
  if (!/\.m?ts$/.test(file)) return {};
  return { code: stripTypeScriptTypes(readFileSync(file, "utf8")) };
}

function describe(error: unknown): LoadResult {
  const { message, stack = "" } = error instanceof Error ? error : { message: String(error) };
  const escaped = (text: string) => text.replace(/[.*+?^${}()|[\]\\]/g, "\\$&");
  const frame = new RegExp(`(?:${escaped(address)}|${escaped(file)}):(\\d+)(?::(\\d+))?`);
  const [, line, column] = frame.exec(stack) ?? [];
  return {
    kind: "failed",
    // Only its first line: the others may quote the file, as does what the parser says of a text or number.
    message:
      explainDenial(error) ?? (message.split("\n")[0] ?? "").replace(/( literal) \(.*\)/, "$1"),
    ...(line !== undefined && { line: Number(line) }),
    ...(column !== undefined && { column: Number(column) }),
  };
}

/** undefined: the error has another reason. */
function explainDenial(error: unknown): string | undefined {
  if (!(error instanceof Error)) return undefined;
  const { code, permission = "Net", resource, message } = error as Denial;
  if (code === "ERR_ACCESS_DENIED") {
    const what = resource ? `${permission} of ${resource}` : permission;
    return `it has no permission ${what}: read that beforehand into a file of its folder, or use YAML`;
  }
  if (!/^Cannot find (?:module|package) /.test(message)) return explainDenial(error.cause);
  return `${message.split("\n")[0]}: only files below its folder, and packages, can be read`;
}

type Denial = Error & { code?: string; permission?: string; resource?: string };

function report(result: LoadResult): void {
  writeFileSync(3, `${JSON.stringify(result)}\n`);
}

/** Empty: it is plain data. A field that is undefined counts as absent. */
function findUnfit(value: unknown): Unfit[] {
  const found: Unfit[] = [];
  visit(value, [], { found, around: new Set() });
  return found;
}

type Walk = { found: Unfit[]; around: Set<object> };

function visit(value: unknown, path: Path, walk: Walk): void {
  if (walk.found.length >= mostFaults) return;
  const what = whatIsUnfit(value, path, walk);
  if (what !== undefined) {
    walk.found.push({ path, what });
    return;
  }
  if (typeof value !== "object" || value === null) return;
  walk.around.add(value);
  for (const [key, entry] of entriesOf(value)) visit(entry, [...path, key], walk);
  walk.around.delete(value);
}

function whatIsUnfit(value: unknown, path: Path, { around }: Walk): string | undefined {
  if (typeof value === "number") return Number.isFinite(value) ? undefined : "no finite number";
  if (typeof value === "object" && value !== null) {
    if (around.has(value)) return "in a circle: it contains itself";
    return path.length > deepest ? `nested deeper than ${deepest}` : classOf(value);
  }
  if (typeof value === "undefined") return "undefined";
  const isFit = value === null || typeof value === "string" || typeof value === "boolean";
  return isFit ? undefined : `a ${typeof value}`;
}

function classOf(value: object): string | undefined {
  if (Array.isArray(value)) return undefined;
  const prototype = Object.getPrototypeOf(value) as object | null;
  if (prototype === null || prototype === Object.prototype) return undefined;
  return `an instance of ${prototype.constructor?.name || "a class"}`;
}

function entriesOf(value: object): [string | number, unknown][] {
  if (Array.isArray(value)) return value.map((entry, index) => [index, entry]);
  return Object.entries(value).filter(([, entry]) => entry !== undefined);
}
