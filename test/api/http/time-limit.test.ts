import { expect, it } from "vitest";
import { createDeadlines, createTimeLimit } from "#api/http/time-limit.ts";
import { waitFor } from "../../support/wait-for.ts";

it("only those that are not over in time are called back, in their order", async () => {
  const deadlines = createDeadlines(25);
  const missed: string[] = [];
  const begin = (name: string) => deadlines.start(() => missed.push(name));
  const [first, second, third] = ["first", "second", "third", "fourth"].map(begin);

  const inTime = [second, third].map((one) => one !== undefined && deadlines.finish(one));
  await waitFor(() => missed.length === 2, { withinMs: 5_000, what: "the two to be missed" });

  expect(inTime).toEqual([true, true]);
  expect(missed).toEqual(["first", "fourth"]);
  expect(first !== undefined && deadlines.finish(first)).toBe(false);
});

it("the time limit starts again after all were over", async () => {
  const deadlines = createDeadlines(10);
  const missed: string[] = [];
  deadlines.start(() => missed.push("first"));
  await waitFor(() => missed.length === 1, { withinMs: 5_000, what: "the first" });

  deadlines.finish(deadlines.start(() => missed.push("second")));
  deadlines.start(() => missed.push("third"));
  await waitFor(() => missed.length === 2, { withinMs: 5_000, what: "the third" });

  expect(missed).toEqual(["first", "third"]);
});

it("the time limit passes results and errors on, and rejects what takes too long", async () => {
  const limitTime = createTimeLimit(10, () => new Error("late"));

  await expect(limitTime(Promise.resolve(1))).resolves.toBe(1);
  await expect(limitTime(Promise.reject(new Error("own")))).rejects.toThrow("own");
  await expect(limitTime(new Promise(() => {}))).rejects.toThrow("late");
});
