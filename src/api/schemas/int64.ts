/** Whole numbers of the wire contract, which may be larger than Postgres' bigint. */

/** The largest number below 2^63 that a double holds: 2^63 itself would not fit into a caller's int64. */
export const bigintMax = String(2n ** 63n - 1_024n);

/** Writes a number as Postgres' text. */
export function toBigint(value: number): string {
  return value >= 2 ** 63 ? bigintMax : BigInt(value).toString();
}
