import { expect, it } from "vitest";
import { z } from "zod";
import { createSealer } from "#kernel/crypto.ts";

const secret = Buffer.alloc(32, 1);
const Value = z.object({ name: z.string() });
const sealer = createSealer(Value, { secret, purpose: "a test" });

it("opens what it has sealed, until its end", () => {
  const text = sealer.seal({ name: "ada" }, 1_000);

  expect(sealer.open(text, 999)).toEqual({ name: "ada" });
  expect(sealer.open(text, 1_000)).toBeUndefined();
  expect(text).toMatch(/^[\w-]+$/);
  expect(Buffer.from(text, "base64url").toString()).not.toContain("ada");
});

it("opens nothing that was sealed for another purpose, by another secret, or with other fields", () => {
  const others = [
    createSealer(Value, { secret, purpose: "another" }),
    createSealer(Value, { secret: Buffer.alloc(32, 2), purpose: "a test" }),
  ];
  const texts = others.map((other) => other.seal({ name: "ada" }, 1_000));
  const older = createSealer(z.object({ id: z.string() }), { secret, purpose: "a test" });

  const opened = [...texts, older.seal({ id: "ada" }, 1_000)].map((text) => sealer.open(text, 0));

  expect(opened).toEqual([undefined, undefined, undefined]);
});

it("opens nothing that was changed, cut or made up", () => {
  const text = sealer.seal({ name: "ada" }, 1_000);
  const changed = [...text].map((letter, at) => {
    const other = letter === "A" ? "B" : "A";
    return text.slice(0, at) + other + text.slice(at + 1);
  });
  const madeUp = [
    "",
    "x",
    text.slice(0, -1),
    `${text}A`,
    `${text}=`,
    "é".repeat(60),
    "A".repeat(9_000),
  ];

  expect([...changed, ...madeUp].filter((one) => sealer.open(one, 0) !== undefined)).toEqual([]);
});
