/** A rollout's past as it is sent and as the page reads it again. */
import { describe, expect, it } from "vitest";
import { encodePast } from "#console/server/past.ts";
import { marksAt, openPast } from "#console/web/past/moments.ts";
import type { MemberHistory } from "#rollout/history/contract.ts";

const start = Date.UTC(2026, 0, 1);

type Step = [outcome: string | null, second: number, orderedSecond?: number];

const history = (id: string, steps: Step[], over: Partial<MemberHistory> = {}): MemberHistory => ({
  id,
  wave: 1,
  moments: steps.map(([outcome, second, ordered]) => ({
    outcome,
    atMs: start + second * 1_000,
    orderedMs: ordered === undefined ? null : start + ordered * 1_000,
  })),
  ...over,
});

const encode = (ids: string[], histories: MemberHistory[], seconds: number) =>
  encodePast(ids, histories, { fromMs: start, toMs: start + seconds * 1_000 });

/** The marks at some seconds after the start. */
function marksOf(coded: ReturnType<typeof encode>, ...seconds: number[]): string[] {
  const past = openPast(coded);
  return seconds.map((second) =>
    marksAt(past, Math.floor((second * 1_000) / past.stepMs)).join(""),
  );
}

describe("the past of a rollout", () => {
  it("has the mark of each sentinel at each moment, in the order of the grid", () => {
    const coded = encode(
      ["a", "b", "c"],
      [history("b", [["failed", 20, 5]]), history("a", [["succeeded", 10, 2]]), history("c", [])],
      100,
    );

    expect(marksOf(coded, -1, 0, 3, 7, 12, 20, 100)).toEqual([
      ...["www", "www", "pww", "ppw", "spw", "sfw", "sfw"],
    ]);
    expect(coded.lost).toBe(0);
  });

  it("goes through a retry and a rollback", () => {
    const coded = encode(
      ["a"],
      [
        history("a", [
          ["failed", 10, 5],
          [null, 20],
          ["succeeded", 30, 25],
          ["reverted", 50, 40],
        ]),
      ],
      60,
    );

    expect(marksOf(coded, 0, 6, 12, 22, 27, 35, 45, 55)).toEqual([..."wpfwpspr"]);
  });

  it("shows who was left out from the start, and who has no history as waiting", () => {
    const coded = encode(
      ["a", "b", "c"],
      [history("a", [], { wave: null }), history("b", [["left_out", 5]])],
      10,
    );

    expect(marksOf(coded, 0, 10)).toEqual(["lww", "llw"]);
  });

  it("ends with the last change, also one that came after the end", () => {
    const coded = encode(["a"], [history("a", [["succeeded", 90]])], 60);

    expect(coded.last * coded.step_ms).toBeGreaterThanOrEqual(90_000);
    expect(marksOf(coded, 89, 91)).toEqual(["w", "s"]);
  });

  it("takes the last of several changes within a moment, and puts none before its time", () => {
    const day = 86_400;
    const coded = encode(
      ["a", "b"],
      [
        history("a", [
          ["succeeded", 10, 5],
          ["reverted", 20, 15],
        ]),
        history("b", [["failed", day]]),
      ],
      day,
    );
    const past = openPast(coded);

    expect(marksAt(past, 1)).toEqual(["r", "w"]);
    expect(marksAt(past, 0)).toEqual(["w", "w"]);
    expect(past.last).toBe(1_000);
  });

  it("of nobody is empty", () => {
    expect(encode([], [], 0)).toEqual({
      from: "2026-01-01T00:00:00.000Z",
      ...{ step_ms: 100, last: 0, initial: [], changes: [], lost: 0 },
    });
  });
});

describe("the past of ten thousand sentinels", () => {
  const ids = Array.from({ length: 10_000 }, (_, i) => `gw-${String(i).padStart(5, "0")}`);
  /** Spread over the span as by a rollout that takes sentinels of every region at once. */
  const secondOf = (i: number, phase: number) =>
    phase * 1_800 + (((i * 7_919) % 10_000) / 10_000) * 1_500;
  const size = (steps: (i: number) => Step[]) =>
    JSON.stringify(
      encode(
        ids,
        ids.map((id, i) => history(id, steps(i))),
        3_600,
      ),
    ).length;

  it("that were deployed is less than 120 kB", () => {
    expect(size((i) => [["succeeded", secondOf(i, 0) + 40, secondOf(i, 0)]])).toBeLessThan(120_000);
  });

  it("that were all rolled back as well is less than 200 kB", () => {
    const bytes = size((i) => [
      ["succeeded", secondOf(i, 0) + 40, secondOf(i, 0)],
      ["reverted", secondOf(i, 1) + 40, secondOf(i, 1)],
    ]);

    expect(bytes).toBeLessThan(200_000);
  });

  it("that were tried again and again is no more, and says that changes are missing", () => {
    const again = (i: number): Step[] =>
      Array.from({ length: 20 }, (_, n) => [
        n % 2 === 0 ? "failed" : null,
        secondOf(i, 0) + n * 60,
      ]);
    const coded = encode(
      ids,
      ids.map((id, i) => history(id, again(i))),
      3_600,
    );

    expect(JSON.stringify(coded).length).toBeLessThan(200_000);
    expect(coded.lost).toBe(10_000);
    expect(new Set(marksAt(openPast(coded), coded.last))).toEqual(new Set(["w"]));
  });
});
