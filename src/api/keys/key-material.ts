/** New keys: random bytes in base58, behind a prefix. */
import { randomBytes } from "node:crypto";
import bs58 from "bs58";
import { hashKey } from "#api/cache/key-record.ts";

export type KeyMaterial = {
  /** The key itself: shown once, never stored in clear text. */
  key: string;
  hash: string;
  /** People recognize the key by its prefix and first four characters. */
  start: string;
};

export const defaultBytes = 16;

export function newKeyMaterial(of: { prefix: string | undefined; bytes: number }): KeyMaterial {
  const secret = bs58.encode(randomBytes(of.bytes));
  const prefix = of.prefix === undefined || of.prefix === "" ? "" : `${of.prefix}_`;
  const key = `${prefix}${secret}`;
  return { key, hash: hashKey(key), start: `${prefix}${secret.slice(0, 4)}` };
}

/** The prefix in `start`, which may itself contain underscores. */
export function prefixOf(start: string): string | undefined {
  const end = start.lastIndexOf("_");
  return end > 0 ? start.slice(0, end) : undefined;
}
