import { expect, it } from "vitest";
import { coresOfOthers, describeMachine, isQuiet } from "../../bench/machine.ts";

it("the machine, the commit and the load are one line, with what was set for this run", () => {
  const line = describeMachine({
    commit: "92d11dc2 + changes",
    node: "v26.10.0",
    processor: "Xeon",
    processors: 2,
    memoryBytes: 25_276_190_720,
    load: 1.118,
    settings: ["BENCH_ROUNDS=1"],
  });

  expect(line).toBe(
    "commit 92d11dc2 + changes; Node v26.10.0; 2 × Xeon, 24 GB; load 1.1; BENCH_ROUNDS=1",
  );
});

it("others used what was busy and not our own", () => {
  const before = { atMs: 5_000, busyMs: 70_000, ownMs: 300 };

  const cores = coresOfOthers(before, { atMs: 7_000, busyMs: 73_000, ownMs: 1_300 });

  expect(cores).toBe(1);
});

it("others use nothing when our own time is counted a tick earlier than that of the machine", () => {
  const before = { atMs: 0, busyMs: 100, ownMs: 0 };

  expect(coresOfOthers(before, { atMs: 1_000, busyMs: 100, ownMs: 10 })).toBe(0);
});

it.each([
  [0, true],
  [0.1, true],
  [0.11, false],
  [2, false],
])("a machine of which others use %d processors is quiet: %s", (cores, expected) => {
  expect(isQuiet(cores)).toBe(expected);
});
