/** TypeScript and JavaScript: the default export of a module, as plain data. */
import path from "node:path";
import { parse } from "acorn";
import { Malformed, type Place } from "#definitions/file/fault.ts";
import { Offsets, type Parsed } from "#definitions/file/offsets.ts";
import { isShallow, tooDeep } from "#kernel/documents.ts";
import { findOffsets, parserOptions } from "./positions.ts";
import type { LoadResult } from "./result.ts";
import { NoResult, runChild } from "./run-child.ts";

/** Throws `Malformed`. `readsTypes`: whether this Node reads TypeScript. */
export async function loadCode(
  text: string,
  file: string,
  readsTypes = Boolean(process.features.typescript),
): Promise<Parsed> {
  if (/\.m?ts$/.test(file) && !readsTypes) throw new Malformed(noTypeScript(file));
  const result = await run(file);
  if (result.kind === "failed") throw new Malformed(wordsOf(result), placeOf(result, text));
  const { data, unfit, code = text } = result;
  if (unfit.length > 0) {
    throw new Malformed(
      unfit.map(({ path: at, what }) => ({
        where: at.join("."),
        message: `is ${what}: definitions are plain data`,
      })),
    );
  }
  if (!isShallow(data)) throw new Malformed(tooDeep);
  if (data === null)
    throw new Malformed("has no default export: export default defineConfig({ … })");
  return { data, offsets: offsetsOf(code, data) };
}

async function run(file: string): Promise<LoadResult> {
  try {
    return await runChild(file);
  } catch (cause) {
    if (cause instanceof NoResult) throw new Malformed(cause.message, undefined, { cause });
    throw cause;
  }
}

function noTypeScript(file: string): string {
  const { base, name } = path.parse(file);
  return `Node ${process.versions.node} cannot read ${base}: use Node 22.18 or newer, or write ${name}.yaml or ${name}.json`;
}

type Failed = Extract<LoadResult, { kind: "failed" }>;

function wordsOf({ message }: Failed): string {
  return `cannot be loaded: ${message}`;
}

/** Node says nothing of the place of a mistake in JavaScript. */
function placeOf({ line, column }: Failed, text: string): Place | undefined {
  if (line !== undefined) return { line, ...(column !== undefined && { column }) };
  try {
    parse(text, parserOptions);
    return undefined;
  } catch (error) {
    const { loc } = error as { loc?: { line: number; column: number } };
    return loc && { line: loc.line, column: loc.column + 1 };
  }
}

function offsetsOf(code: string, data: unknown): Offsets {
  try {
    return findOffsets(code, data);
  } catch (error) {
    // Node takes syntax that the parser does not know yet, or that nests too deep for it: the paths have to do.
    if (error instanceof SyntaxError || error instanceof RangeError) return new Offsets();
    throw error;
  }
}
