import { describe, expect, it } from "vitest";
import { stripEscapes } from "#kernel/log.ts";

describe("stripEscapes", () => {
  it.each([
    ["\u001b[1;31mred\u001b[0m \u001b[38;2;1;2;3mtrue\u001b[m", "red true"],
    ["\u001b[2K\u001b[1A\u001b[?25lx\u001b[?25h", "x"],
    ["\u009b31mred\u009b0m", "red"],
    ["\u001b]0;a title\u0007x \u001b]2;another\u001b\\y", "x y"],
    ["\u001b]8;;https://example.com/a\u001b\\link\u001b]8;;\u001b\\", "link"],
    ["\u001bP1$r0m\u001b\\x", "x"],
    ["\u001b(Bx\u001b7y\u001b8\u001b=z\u001b>", "xyz"],
    ["\u001bcnew\u001bEline", "\u001bcnewline"],
    ["\u001bc\nx", "\nx"],
    ["cut \u001b[38;5", "cut "],
  ])("of %j leaves %j", (text, left) => {
    expect(stripEscapes(text)).toBe(left);
  });

  it("leaves what follows a string that has no end", () => {
    expect(stripEscapes("a\u001b]0;title\nb\u0007")).toBe("a\u001b]0;title\nb\u0007");
    expect(stripEscapes("\u001bpassword=x")).toBe("\u001bpassword=x");
  });
});
