import { describe, expect, it } from "vitest";
import { Marks, versionOf } from "#api/cache/marks.ts";

describe("marks", () => {
  it("change their version when one of the things they stand for is touched", () => {
    const marks = new Marks();
    const held = marks.hold(["key:k1", "workspace:w1"]);
    const before = versionOf(held);

    marks.touch("workspace:w1");

    expect(versionOf(held)).not.toBe(before);
  });

  it("keep their version when something else is touched", () => {
    const marks = new Marks();
    const held = marks.hold(["key:k1"]);
    const before = versionOf(held);

    marks.touch("key:k2");

    expect(versionOf(held)).toBe(before);
  });

  it("are shared, so that one touch reaches all who hold them", () => {
    const marks = new Marks();

    const [first] = marks.hold(["workspace:w1"]);
    const [second] = marks.hold(["workspace:w1"]);

    expect(first).toBe(second);
  });

  it("go when the last one lets go, and still tell those who hold on", () => {
    const marks = new Marks();
    const first = marks.hold(["workspace:w1"]);
    const second = marks.hold(["workspace:w1"]);

    marks.release(first);
    marks.touch("workspace:w1");
    const afterFirst = versionOf(second);
    marks.release(second);

    expect(afterFirst).toBe(1);
    expect(versionOf(marks.hold(["workspace:w1"]))).toBe(0);
  });
});
