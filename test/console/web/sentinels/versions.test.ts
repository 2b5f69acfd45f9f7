import { describe, expect, it } from "vitest";
import { shareOf, tabulate } from "#console/web/sentinels/versions.ts";

describe("the table of versions", () => {
  it("has the most frequent image first, the others last, and the whole fleet on top", () => {
    const table = tabulate([
      { region: "eu", image: "app:v1", count: 2 },
      { region: "eu", image: null, count: 50 },
      { region: "eu", image: "app:v2", count: 8 },
      { region: "us", image: "app:v2", count: 10 },
    ]);

    expect(table).toEqual({
      images: ["app:v2", "app:v1", null],
      rows: [
        { region: null, size: 70, counts: [18, 2, 50] },
        { region: "eu", size: 60, counts: [8, 2, 50] },
        { region: "us", size: 10, counts: [10, 0, 0] },
      ],
    });
  });

  it("does not repeat the only region, and is empty without sentinels", () => {
    const one = tabulate([{ region: "eu", image: "app:v1", count: 2 }]);

    expect(one.rows).toEqual([{ region: "eu", size: 2, counts: [2] }]);
    expect(tabulate([])).toEqual({ images: [], rows: [] });
  });
});

describe("a share", () => {
  it.each([
    [0, 0, "0 %"],
    [0, 9, "0 %"],
    [1, 10_000, "< 1 %"],
    [1, 3, "33 %"],
    [9_999, 10_000, "99 %"],
    [9, 9, "100 %"],
  ])("of %d in %d is %s", (part, whole, words) => {
    expect(shareOf(part, whole)).toBe(words);
  });
});
