import { randomBytes } from "node:crypto";
import { expect, it } from "vitest";
import { createKeyRing } from "#api/keys/recoverable/key-ring.ts";

const entry = (id: string) => `${id}:${randomBytes(32).toString("base64")}`;

it("the key ring opens what it sealed", () => {
  const ring = createKeyRing([entry("one")]);

  const sealed = ring.seal("vedette_secret", "key_1");

  expect(ring.open(sealed, "key_1")).toBe("vedette_secret");
  expect(sealed.sealed.includes("vedette_secret")).toBe(false);
});

it("the key ring does not open a sealed key in another key's row", () => {
  const ring = createKeyRing([entry("one")]);
  const sealed = ring.seal("vedette_secret", "key_1");

  expect(() => ring.open(sealed, "key_2")).toThrow();
});

it("the key ring does not open what was changed", () => {
  const ring = createKeyRing([entry("one")]);
  const { encryptionKeyId, sealed } = ring.seal("vedette_secret", "key_1");
  const changed = Buffer.from(sealed);
  changed[15] = (changed[15] as number) ^ 1;

  expect(() => ring.open({ encryptionKeyId, sealed: changed }, "key_1")).toThrow();
});

it("seals by the first key and opens by all, so that keys can be rotated", () => {
  const old = entry("2025");
  const sealed = createKeyRing([old]).seal("vedette_secret", "key_1");
  const rotated = createKeyRing([entry("2026"), old]);

  expect(rotated.open(sealed, "key_1")).toBe("vedette_secret");
  expect(rotated.seal("other", "key_2").encryptionKeyId).toBe("2026");
});

it("the key ring names the key that is missing", () => {
  const sealed = createKeyRing([entry("2025")]).seal("vedette_secret", "key_1");
  const ring = createKeyRing([entry("2026")]);

  expect(() => ring.open(sealed, "key_1")).toThrow('no key "2025"');
});

it.each(["short:AAAA", `${randomBytes(32).toString("base64")}`, ":", ""])(
  "refuses %j as an entry without telling it",
  (bad) => {
    expect(() => createKeyRing([bad])).toThrow(
      /^api.encryption_keys: each is <id>:<32 bytes in base64>, one is not$/,
    );
  },
);
