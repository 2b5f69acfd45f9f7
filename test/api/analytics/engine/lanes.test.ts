import { expect, it } from "vitest";
import { createLanes } from "#api/analytics/engine/engine.ts";

const settle = () => new Promise((resolve) => setImmediate(resolve));

function setUp() {
  const takeLane = createLanes(1);
  const { promise, resolve } = Promise.withResolvers<string>();
  const begun: string[] = [];
  const query = (name: string, waitAtMostMs?: number) =>
    takeLane(() => {
      begun.push(name);
      return promise;
    }, waitAtMostMs);
  return { query, begun, answer: () => resolve("answered") };
}

it("queries run one after the other, each when a lane is free", async () => {
  const { query, begun, answer } = setUp();
  const [first, second] = [query("first"), query("second")];
  await settle();
  const begunAtOnce = [...begun];

  answer();

  expect(begunAtOnce).toEqual(["first"]);
  expect(await Promise.all([first, second])).toEqual(["answered", "answered"]);
  expect(begun).toEqual(["first", "second"]);
});

it("a query that finds no lane in time is refused as one too many, and never runs", async () => {
  const { query, begun, answer } = setUp();
  const first = query("first", 1);

  await expect(query("late", 1)).rejects.toMatchObject({ failure: "quota" });
  answer();

  expect(await first).toBe("answered");
  expect(await query("next")).toBe("answered");
  expect(begun).toEqual(["first", "next"]);
});

it("a failed query leaves its lane to the next one", async () => {
  const takeLane = createLanes(1);
  const failed = takeLane(() => Promise.reject(new Error("away")));

  await expect(failed).rejects.toThrow("away");

  expect(await takeLane(async () => "answered")).toBe("answered");
});
