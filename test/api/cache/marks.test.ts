import { describe, expect, it } from "vitest";
import { Marks } from "#api/cache/marks.ts";

describe("marks", () => {
  it("change the version of a record when one of the things it depends on is touched", () => {
    const marks = new Marks();
    const before = marks.versionOf(["key:k1", "workspace:w1"]);

    marks.touch("workspace:w1");

    expect(marks.versionOf(["key:k1", "workspace:w1"])).toBe(before + 1);
    expect(marks.touched).toBe(1);
  });

  it("keep the version of a record when something else is touched", () => {
    const marks = new Marks();
    const before = marks.versionOf(["key:k1", "workspace:w1"]);

    marks.touch("key:k2");
    marks.touch("key:w1");

    expect(marks.versionOf(["key:k1", "workspace:w1"])).toBe(before);
  });

  it("do not count touches of a kind that no record depends on", () => {
    const marks = new Marks();
    marks.versionOf(["key:k1"]);

    marks.touch("new:k2");

    expect(marks.touched).toBe(0);
  });

  it("spread ids over their counters, so that few of them share one", () => {
    const marks = new Marks();
    const ids = Array.from({ length: 1_000 }, (_, i) => `key:key_${i.toString(36)}` as const);
    marks.versionOf(ids);

    for (const id of ids) marks.touch(id);

    expect(ids.filter((id) => marks.versionOf([id]) > 1).length).toBeLessThan(20);
  });
});
