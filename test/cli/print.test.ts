import { describe, expect, it } from "vitest";
import { escapeJson, forTerminal } from "#kernel/text.ts";

const esc = "\u001b";

describe("forTerminal", () => {
  it.each([
    ["the title of the window", `${esc}]0;owned\u0007`],
    ["the clipboard", `${esc}]52;c;ZXZpbA==\u0007`],
    ["the screen", `${esc}[2J${esc}[H`],
    ["what stood there before", "ok\rno"],
    ["a sequence of one character", "\u009b2J"],
    ["what the terminal answers", `${esc}[6n${esc}P+q544e\u001b\\`],
    ["the direction of the text", "safe\u202egnp.exe"],
    ["a colour in which nothing is seen", `${esc}[8msecret${esc}[30m`],
  ])("changes nothing of %s", (_what, text) => {
    // biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is looked for
    expect(forTerminal(text)).not.toMatch(/[\u0000-\u0009\u000b-\u001f\u007f-\u009f\u202e]/);
  });

  it("keeps line breaks and the colours of states", () => {
    const text = `${esc}[32mcompleted${esc}[39m\n\tü 漢 🚀`;

    expect(forTerminal(text)).toBe(text);
  });
});

describe("escapeJson", () => {
  it("contains nothing that controls a terminal, and parses to the same value", () => {
    const value = { reason: `${esc}[2J\u009b2J\u202e\u2028` };

    const line = escapeJson(JSON.stringify(value));

    expect(line).toMatch(/^[\x20-\x7e]+$/);
    expect(JSON.parse(line)).toEqual(value);
  });
});
