import { describe, expect, it } from "vitest";
import {
  countAlong,
  countsAt,
  lastEvent,
  momentOf,
  momentsOf,
  openPast,
  outline,
  spanOf,
  timeOf,
} from "#console/web/past/moments.ts";

/** Four sentinels over 100 s: two are deployed, one of them fails, the other is reverted; one was left out. */
const past = openPast({
  from: "2026-01-01T00:00:00.000Z",
  step_ms: 1_000,
  last: 100,
  initial: [
    ["w", 3],
    ["l", 1],
  ],
  changes: [
    [10, "p", [1, 1]],
    [10, "s", [1]],
    [0, "f", [2]],
    [60, "r", [1]],
  ],
  lost: 0,
});

const at = (second: number) => new Date(Date.UTC(2026, 0, 1, 0, 0, second)).toISOString();

describe("the counts", () => {
  it("are known at each moment at which they change", () => {
    const along = countAlong(past);

    expect(along.map(({ moment }) => moment)).toEqual([0, 10, 20, 80]);
    expect(countsAt(along, -5)).toMatchObject({ previous: 4, fresh: 0 });
    expect(countsAt(along, 19)).toMatchObject({ deploying: 2, previous: 2 });
    expect(countsAt(along, 20)).toMatchObject({ fresh: 1, failed: 1, deploying: 0 });
    expect(countsAt(along, 1_000)).toMatchObject({ reverted: 1, failed: 1, fresh: 0, previous: 2 });
  });

  it("always add up to all sentinels", () => {
    const sums = countAlong(past).map(({ counts }) =>
      Object.values(counts).reduce((a, b) => a + b),
    );

    expect(new Set(sums)).toEqual(new Set([4]));
  });
});

describe("a time of the address", () => {
  it("is the first moment that has it, so that what happened then has happened", () => {
    expect(momentOf(past, at(20))).toBe(20);
    expect(momentOf(past, "2026-01-01T00:00:19.001Z")).toBe(20);
    expect(timeOf(past, 20)).toBe(Date.parse(at(20)));
  });

  it.each([null, "", "yesterday"])("that is %j is the end of the rollout", (iso) => {
    expect(momentOf(past, iso)).toBe(100);
  });

  it("far away is an edge of the slider", () => {
    const { first, end } = spanOf(past);

    expect(momentOf(past, "1999-01-01T00:00:00Z")).toBe(first);
    expect(momentOf(past, "2100-01-01T00:00:00Z")).toBe(end);
    expect([first, end]).toEqual([-50, 150]);
  });
});

describe("the span", () => {
  it.each([
    [0, 5_000],
    [4_000, 5_000],
    [30_000, 15_000],
    [300_000, 60_000],
    [3_600_000, 180_000],
  ])("of %d ms has %d ms before and after it", (lengthMs, marginMs) => {
    const { first, end } = spanOf({ ...past, stepMs: 100, last: lengthMs / 100 });

    expect([first * 100, end * 100]).toEqual([-marginMs, lengthMs + marginMs]);
  });
});

describe("events", () => {
  const events = [{ at: at(80) }, { at: at(20) }, { at: at(20) }];

  it("are moments, each once", () => {
    expect(momentsOf(past, events)).toEqual([20, 80]);
  });

  it("have one that was the last at a moment, from the first one on", () => {
    expect(lastEvent(past, events, 19)).toBeUndefined();
    expect(lastEvent(past, events, 79)?.at).toBe(at(20));
    expect(lastEvent(past, events, 80)?.at).toBe(at(80));
  });
});

describe("the outline", () => {
  it("has each layer that there ever is, from the bottom to the top of the picture", () => {
    const paths = outline(past, countAlong(past));

    expect(paths.map(({ layer }) => layer)).toEqual([
      ...["fresh", "failed", "deploying", "reverted", "previous"],
    ]);
    const previous = paths.at(-1)?.path ?? "";
    expect(previous.startsWith("M0 0L")).toBe(true);
    expect(previous).toContain("1000 0");
  });

  it("keeps a count until it changes", () => {
    const fresh = outline(past, countAlong(past))[0]?.path;
    const x = (moment: number) => Math.round(((moment + 50) * 100_000) / 200) / 100;

    expect(fresh).toContain(`L${x(20)} 75L${x(80)} 75L${x(80)} 100`);
  });

  it("of nobody has no layers", () => {
    const empty = openPast({
      ...{ from: at(0), step_ms: 100, last: 0, initial: [], changes: [], lost: 0 },
    });

    expect(outline(empty, countAlong(empty))).toEqual([]);
  });
});
