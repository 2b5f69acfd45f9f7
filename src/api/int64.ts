/** Whole numbers of the wire contract, which may be larger than Postgres' bigint, as its text. */
const bigintMax = "9223372036854775807";

export function toBigint(value: number): string {
  return value >= 2 ** 63 ? bigintMax : BigInt(value).toString();
}
