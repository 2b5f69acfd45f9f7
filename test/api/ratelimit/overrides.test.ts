import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { compileOverrides, type Override } from "#api/ratelimit/overrides.ts";

const override = (identifier: string, id = `rlor_${identifier}`): Override => ({
  id,
  identifier,
  limit: 1,
  durationMs: 1_000,
});

const find = (patterns: string[], identifier: string) =>
  compileOverrides(patterns.map((pattern) => override(pattern)))(identifier)?.identifier;

describe("an override", () => {
  it.each([
    ["exactly the identifier before any pattern", ["*", "user_*", "user_1"], "user_1", "user_1"],
    ["the pattern that spells out more", ["*", "user_*", "user_1*"], "user_12", "user_1*"],
    ["a pattern in the middle", ["a*c", "*"], "abbbc", "a*c"],
    ["of equals the one with fewer stars", ["*a*", "a*"], "ab", "a*"],
    ["a star for nothing at all", ["a*"], "a", "a*"],
    ["nothing when none fits", ["a*", "b"], "c", undefined],
    ["nothing when the ends overlap", ["ab*ba"], "aba", undefined],
    ["dots and brackets as themselves", ["10.0.*", "[a]*"], "10x0.1", undefined],
    ["a star in an identifier as itself", ["a*"], "a*", "a*"],
  ])("is %s", (_, patterns, identifier, expected) => {
    expect(find(patterns, identifier)).toBe(expected);
    expect(find(patterns.toReversed(), identifier)).toBe(expected);
  });

  it("matches what the same pattern matches as a regular expression", () => {
    const short = fc.string({ unit: fc.constantFrom("a", "b", "*", "."), maxLength: 8 });
    const plain = fc.string({ unit: fc.constantFrom("a", "b", "."), maxLength: 10 });

    fc.assert(
      fc.property(short, plain, (pattern, identifier) => {
        const expression = pattern.replaceAll(".", "\\.").replaceAll("*", ".*");
        const expected = new RegExp(`^${expression}$`, "s").test(identifier);
        expect(find([pattern], identifier) !== undefined).toBe(expected);
      }),
      { numRuns: 2_000, seed: 20_261_121 },
    );
  });

  it("that is made to be slow is quick", () => {
    const findOverride = compileOverrides([override(`${"*a".repeat(256)}b`)]);

    const startedAtMs = performance.now();
    findOverride("a".repeat(512));

    expect(performance.now() - startedAtMs).toBeLessThan(50);
  });
});
