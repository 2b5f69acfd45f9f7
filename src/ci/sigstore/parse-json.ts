/** JSON from a registry, in which anybody may have written anything. */
import type { z } from "zod";
import { Unfit } from "./unfit.ts";

/** Bundles have a few KiB; statements may list many files. */
const maxBytes = 1024 * 1024;
const maxDepth = 64;

/** Throws `Unfit` for what is too large or too deep, or no JSON. */
export function parseJson(bytes: Uint8Array): unknown {
  if (bytes.byteLength > maxBytes) throw new Unfit("is larger than 1 MiB");
  const text = decode(bytes);
  if (depthOf(text) > maxDepth) throw new Unfit(`is nested more than ${maxDepth} levels deep`);
  try {
    return JSON.parse(text);
  } catch {
    throw new Unfit("is not JSON");
  }
}

/** The same as a known shape; other fields are ignored. `what` begins the error's message. */
export function parseShape<Shape>(
  bytes: Uint8Array,
  { shape, what }: { shape: z.ZodType<Shape>; what: string },
): Shape {
  const parsed = shape.safeParse(parseJson(bytes));
  if (parsed.success) return parsed.data;
  const [issue] = parsed.error.issues;
  throw new Unfit(`is not ${what}: ${issue?.path.join(".")} ${issue?.message}`);
}

function decode(bytes: Uint8Array): string {
  try {
    return new TextDecoder("utf-8", { fatal: true }).decode(bytes);
  } catch {
    throw new Unfit("is not text");
  }
}

const steps: Readonly<Record<string, number>> = { "[": 1, "{": 1, "]": -1, "}": -1 };

/** How deep a JSON text is nested. Not recursive, as the text may be nothing but brackets. */
function depthOf(text: string): number {
  let depth = 0;
  let deepest = 0;
  let isString = false;
  for (let at = 0; at < text.length; at++) {
    const character = text[at] ?? "";
    // Only strings have backslashes, and what follows one ends no string.
    if (character === "\\") at++;
    if (character === '"') isString = !isString;
    if (isString) continue;
    depth += steps[character] ?? 0;
    deepest = Math.max(deepest, depth);
  }
  return deepest;
}
