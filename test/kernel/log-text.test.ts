import { describe, expect, it } from "vitest";
import { cleanLog } from "#kernel/log.ts";

const clean = (raw: string, lines = 100) => cleanLog(raw, { lines });

describe("cleanLog", () => {
  it("keeps the last lines, and no empty ones at the end", () => {
    expect(clean("a\nb\n\nc\n\n\n", 3)).toBe("b\n\nc");
  });

  it("keeps nothing when no lines are wanted", () => {
    expect(clean("a\nb", 0)).toBe("");
  });

  it("removes colours, titles and cursor movements, and replaces control characters", () => {
    const raw = "\u001b[31mred\u001b[0m \u001b]0;title\u0007x\u001b[2K\u0000\u0008y\u202ez\ttab";

    expect(clean(raw)).toBe("red x  y z tab");
  });

  it("shows of an overwritten line what it was at last, and takes line ends of every kind", () => {
    expect(clean("10 %\r50 %\r100 %\r\ndone\r\n")).toBe("100 %\ndone");
  });

  it("cuts a long line", () => {
    const [line = ""] = clean(`${"x".repeat(5_000)}\nend`).split("\n");

    expect(line).toBe(`${"x".repeat(1_000)}…`);
  });

  it("keeps the newest 16 KiB, whole lines of it", () => {
    const kept = clean(
      Array.from({ length: 1_000 }, (_, n) => `${n} ${"ü".repeat(100)}`).join("\n"),
      1_000,
    );

    expect(Buffer.byteLength(kept)).toBeLessThanOrEqual(16_384);
    expect(Buffer.byteLength(kept)).toBeGreaterThan(16_000);
    expect(kept).toMatch(/^\d+ ü.*\n999 ü+$/s);
  });

  it("begins with a whole line after a cut, so that no value is parted from its name", () => {
    const kept = clean(`password=${"s".repeat(70_000)}\nlast`);

    expect(kept).toBe("last");
  });

  it("keeps the end of one endless line", () => {
    expect(clean("y".repeat(100_000))).toBe(`${"y".repeat(1_000)}…`);
  });

  it("masks secrets whose names are coloured", () => {
    expect(clean("\u001b[1mpassword\u001b[0m=hunter2")).toBe("password=***");
  });

  it("replaces lone surrogates", () => {
    expect(clean("a\ud800b")).toBe("a\ufffdb");
  });

  it.each([
    "\u001b]",
    "\u001b]0;a",
    "\u001bP",
    "\u001b[",
    "\u001b[1;",
    "\u009d",
    "-eyJaaaaaaaaaaaaa",
    "token=",
    "password",
    "authorization:a ",
    "-----BEGIN PRIVATE KEY-----",
    "-----END PRIVATE KEY-----",
    "-----BEGIN PRIVATE KEY-----\n",
    "a/b+",
  ])("takes no long time for 64 KiB of %j", (part) => {
    const raw = part.repeat(65_536 / part.length);
    const began = process.cpuUsage();

    clean(raw);

    const { user, system } = process.cpuUsage(began);
    expect((user + system) / 1_000).toBeLessThan(200);
  });
});
