/** JSON from a registry, in which anybody may have written anything. */
import type { z } from "zod";
import { isShallow, tooDeep } from "#kernel/depth.ts";
import { Unfit } from "./unfit.ts";

/** Bundles have a few KiB; statements may list many files. */
const maxBytes = 1024 * 1024;

/** Throws `Unfit` for what is too large or too deep, or no JSON. */
export function parseJson(bytes: Uint8Array): unknown {
  if (bytes.byteLength > maxBytes) throw new Unfit("is larger than 1 MiB");
  const text = decode(bytes);
  const value = parse(text);
  if (!isShallow(value)) throw new Unfit(tooDeep);
  return value;
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

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    throw new Unfit("is not JSON");
  }
}
