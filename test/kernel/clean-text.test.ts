import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { cleanText, isClean, toStorableJson } from "#kernel/text.ts";

/** Including lone surrogates. */
const anyText = fc
  .array(fc.nat(0xffff), { maxLength: 60 })
  .map((units) => String.fromCharCode(...units));

describe("cleanText", () => {
  it.each([
    ["a NUL", "a\u0000b", "a b"],
    ["control characters", "a\u001b[31m\u0085b", "a [31m b"],
    ["lines", "a\r\nb\u2028c", "a  b c"],
    ["half a character", "a\ud800b", "a\ufffdb"],
    ["marks of direction", "\u202eevil\u2066", " evil "],
  ])("takes out %s", (_, text, clean) => {
    expect(cleanText(text, 100)).toBe(clean);
  });

  it("leaves what people write as it is", () => {
    const text = "crash_loop: exit code 1 — naïve, 漢字, 🙂";

    expect(cleanText(text, 100)).toBe(text);
  });

  it("never returns a text that is too long, that Postgres refuses, or that a second call would change", () => {
    fc.assert(
      fc.property(anyText, fc.nat(50), (text, max) => {
        const clean = cleanText(text, max);
        expect(clean.length).toBeLessThanOrEqual(max);
        expect(clean.isWellFormed()).toBe(true);
        expect(clean).not.toContain("\u0000");
        expect(isClean(clean, max)).toBe(true);
      }),
    );
  });
});

describe("toStorableJson", () => {
  it("replaces what Postgres refuses in JSON, and nothing else", () => {
    const stored = toStorableJson({ nul: "a\0b", half: "a\ud800b", rest: ["\\u0000 🙂", null, 1] });

    expect(JSON.parse(stored)).toEqual({
      nul: "a\ufffdb",
      half: "a\ufffdb",
      rest: ["\\u0000 🙂", null, 1],
    });
  });
});
