/** Whole numbers of the wire (doubles) as Postgres holds them (64 bits). */
import { invalidInput } from "./error.ts";
import { int64Max } from "./schema.ts";

const largest = "9223372036854775807";

/**
 * `value` as text for a `bigint` column. The largest number a client can mean arrives rounded up, to
 * 2^63, and is taken for what was meant. Throws the 400 of `field` above it.
 */
export function toInt64(value: number, field: string): string {
  if (value > int64Max) throw invalidInput(`\`${field}\` must be at most ${largest}.`);
  return value === int64Max ? largest : String(BigInt(value));
}
