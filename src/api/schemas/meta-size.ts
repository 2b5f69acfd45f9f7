/** Limits the size of a key's or an identity's metadata. */
import { invalidInput } from "#api/error.ts";

const mebibyte = 1024 * 1024;

/** `meta` as JSON. Throws the 400 above 1 MiB. */
export function checkMetaSize(meta: Record<string, unknown>): string {
  const json = JSON.stringify(meta);
  const plain = Buffer.byteLength(json);
  // Metadata that is too large as received is not examined further.
  const bytes = plain > mebibyte ? plain : plain + unfoldedBytes(meta, json);
  if (bytes <= mebibyte) return json;
  const megabytes = Math.max(1.1, bytes / mebibyte).toFixed(1);
  throw invalidInput(
    `Metadata is too large: it must be at most 1.0 MB, but is ${megabytes} MB. Please reduce its size.`,
  );
}

/**
 * Counts the characters that are added because Postgres writes numbers without exponents: the five of 1e308 become
 * 309.
 */
function unfoldedBytes(meta: Record<string, unknown>, json: string): number {
  if (!/\de[+-]\d/.test(json)) return 0;
  let bytes = 0;
  JSON.stringify(meta, (_, value) => {
    if (typeof value === "number") bytes += Math.abs(Number(String(value).split("e")[1] ?? 0));
    return value;
  });
  return bytes;
}
