import { expect, it } from "vitest";
import { dropPast, muteForeverMs, notQuiet, quietBy, quietUntilMs } from "#monitor/rules/quiet.ts";

const window = (fromMs: number, toMs: number) => ({
  fromMs,
  toMs,
  reason: "upgrade",
  by: "grace",
});

it("without mute and windows a check is never quiet", () => {
  expect(quietUntilMs(notQuiet, 5)).toBeNull();
});

it("a mute holds until its end", () => {
  expect(quietUntilMs({ mutedUntilMs: 10, maintenance: [] }, 9)).toBe(10);
  expect(quietUntilMs({ mutedUntilMs: 10, maintenance: [] }, 10)).toBeNull();
});

it("a mute without an end lasts for ever", () => {
  expect(quietUntilMs({ mutedUntilMs: muteForeverMs, maintenance: [] }, 0)).toBe(
    new Date(muteForeverMs).getTime(),
  );
});

it("a window holds from its first instant until before its last", () => {
  const quiet = { mutedUntilMs: null, maintenance: [window(10, 20)] };

  expect([9, 10, 19, 20].map((at) => quietUntilMs(quiet, at))).toEqual([null, 20, 20, null]);
});

it("adjoining windows count as one, in whatever order they were added", () => {
  const quiet = { mutedUntilMs: 30, maintenance: [window(29, 40), window(10, 20), window(40, 41)] };

  expect(quietUntilMs(quiet, 12)).toBe(41);
});

it("a mute and windows that have ended are dropped", () => {
  const quiet = { mutedUntilMs: 10, maintenance: [window(0, 10), window(20, 30)] };

  expect(dropPast(quiet, 10)).toEqual({ mutedUntilMs: null, maintenance: [window(20, 30)] });
});

it("the name of who muted it is dropped with the mute", () => {
  const quiet = { mutedUntilMs: 10, mutedBy: "ada", maintenance: [] };

  expect(dropPast(quiet, 9)).toEqual(quiet);
  expect(dropPast(quiet, 10)).toEqual({ mutedUntilMs: null, maintenance: [] });
});

it("a check is quiet by the name of who muted it, else of who added the window", () => {
  const maintenance = [window(10, 20)];
  const quiet = { mutedUntilMs: 12, mutedBy: "ada", maintenance };

  expect([11, 12, 19, 20].map((at) => quietBy(quiet, at))).toEqual(["ada", "grace", "grace", null]);
});
