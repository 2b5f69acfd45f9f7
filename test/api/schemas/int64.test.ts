import { expect, it } from "vitest";
import { toBigint } from "#api/schemas/schema.ts";

it.each([0, 1e15, 2 ** 62, 2 ** 63 - 1_024])("%d is kept as it is", (value) => {
  expect(Number(toBigint(value))).toBe(value);
});

it.each([2 ** 63, 1e300])(
  "%d is kept as what fits 64 bits, also when it is answered as JSON",
  (value) => {
    const answered = JSON.stringify(Number(toBigint(value)));

    expect(BigInt(answered) < 2n ** 63n).toBe(true);
  },
);
