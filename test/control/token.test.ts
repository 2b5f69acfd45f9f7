import { describe, expect, it } from "vitest";
import { createTokenCheck } from "#control/token.ts";

describe("createTokenCheck", () => {
  const isToken = createTokenCheck("the-token");

  it.each(["Bearer the-token", "bearer the-token", "Bearer  the-token"])("accepts %j", (header) => {
    expect(isToken(header)).toBe(true);
  });

  it.each([
    undefined,
    "",
    "the-token",
    "Bearer",
    "Bearer ",
    "Bearer the-token2",
    "Bearer the-toke",
    "Basic the-token",
    "Bearer the-token the-token",
  ])("refuses %j", (header) => {
    expect(isToken(header)).toBe(false);
  });
});
