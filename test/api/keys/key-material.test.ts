import { createHash } from "node:crypto";
import bs58 from "bs58";
import { expect, it } from "vitest";
import { newKeyMaterial, prefixOf } from "#api/keys/create-key.ts";

it("a new key has so many random bytes behind its prefix", () => {
  const { key, start } = newKeyMaterial({ prefix: "prod", bytes: 24 });

  expect(key.startsWith("prod_")).toBe(true);
  expect(bs58.decode(key.slice("prod_".length))).toHaveLength(24);
  expect(start).toBe(key.slice(0, "prod_".length + 4));
});

it("two keys have nothing in common but their prefix", () => {
  const [one, other] = [1, 2].map(() => newKeyMaterial({ prefix: undefined, bytes: 16 }));

  expect(one?.key).not.toBe(other?.key);
  expect(one?.hash).not.toBe(other?.hash);
});

it.each([undefined, ""])("a new key has nothing before it when its prefix is %j", (prefix) => {
  const { key, start } = newKeyMaterial({ prefix, bytes: 16 });

  expect(bs58.decode(key)).toHaveLength(16);
  expect(start).toBe(key.slice(0, 4));
});

it("stores the SHA-256 of the key in base64", () => {
  const { key, hash } = newKeyMaterial({ prefix: "prod", bytes: 16 });

  expect(hash).toBe(createHash("sha256").update(key).digest("base64"));
});

it.each([
  ["prod_abcd", "prod"],
  ["my_long_prefix_abcd", "my_long_prefix"],
  ["abcd", undefined],
  ["_abcd", undefined],
])("a key shows its prefix of %s again", (start, prefix) => {
  expect(prefixOf(start)).toBe(prefix);
});
