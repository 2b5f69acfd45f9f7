import { expect, it } from "vitest";
import { statusWord } from "#console/web/checks/tone.ts";

it("a degraded check is not called slow: a certificate may end soon", () => {
  expect(statusWord("degraded")).toBe("Degraded");
});
