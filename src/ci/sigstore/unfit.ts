/** Why something attached to an image proves nothing. */
import type { z } from "zod";
import { isShallow, tooDeep } from "#kernel/documents.ts";
import { cleanWords } from "#kernel/log.ts";

/** Its message is for people, and may quote what others wrote: it is cleaned where it is shown. */
export class Unfit extends Error {}

/** Explains a failed verification. The library throws errors of every class on hostile input: some are mere accidents. */
export function explain(error: unknown): string {
  const isAccident = error instanceof TypeError || error instanceof RangeError;
  if (!(error instanceof Error) || isAccident) return "is malformed";
  const { fields } = error as { fields?: unknown };
  const named = Array.isArray(fields) ? ` (${fields.slice(0, 3).join(", ")})` : "";
  const causes = messagesOf(error.cause, 3);
  return cleanWords([`${error.message}${named}`, ...causes].join(": "), 240);
}

/** The messages of a cause and of its own causes. */
function messagesOf(cause: unknown, most: number): string[] {
  if (!(cause instanceof Error) || most === 0) return [];
  return [cause.message, ...messagesOf(cause.cause, most - 1)];
}

// JSON from a registry, in which anybody may have written anything.

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

/** Sigstore's own library, loaded when the first image is checked: neither a start nor `--help` waits for it. */
export type Library = Awaited<ReturnType<typeof loadLibrary>>;

export async function loadLibrary() {
  const [{ bundleFromJSON }, { toSignedEntity, toTrustMaterial, Verifier }, { TrustedRoot }] =
    await Promise.all([
      import("@sigstore/bundle"),
      import("@sigstore/verify"),
      import("@sigstore/protobuf-specs"),
    ]);
  return { bundleFromJSON, toSignedEntity, toTrustMaterial, Verifier, TrustedRoot };
}
