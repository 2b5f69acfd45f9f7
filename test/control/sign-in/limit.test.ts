import { expect, it } from "vitest";
import { createLimit } from "#control/sign-in/limit.ts";

it("limits each address by itself, for a minute", () => {
  const isWithin = createLimit({ count: 2, windowMs: 60_000 });

  const answers = [
    isWithin("192.0.2.1", 0),
    isWithin("192.0.2.1", 1),
    isWithin("192.0.2.1", 59_999),
    isWithin("192.0.2.2", 59_999),
    isWithin("192.0.2.1", 60_000),
  ];

  expect(answers).toEqual([true, true, false, true, true]);
});
