import { expect, it } from "vitest";
import type { SentinelMark } from "#console/contract.ts";
import { failuresOf } from "#console/counts.ts";

const pictureOf = (cells: readonly [SentinelMark, string?][]) => ({
  ids: cells.map((_, index) => `gw-${index}`),
  marks: cells.map(([mark]) => mark),
  reasons: new Map(
    cells.flatMap(([, reason], index): [number, string][] =>
      reason === undefined ? [] : [[index, reason]],
    ),
  ),
});

it("groups by the code of the reason, with the most frequent whole reasons", () => {
  const cells: [SentinelMark, string?][] = [
    ["f", "crash_loop: exited with 1"],
    ["s"],
    ["f", "crash_loop: exited with 2"],
    ["n", "crash_loop: exited with 2"],
    ["f", "conflict"],
    ["x", "crash_loop: of a rollout before"],
    ["f"],
  ];

  expect(failuresOf(pictureOf(cells))).toEqual([
    {
      code: "crash_loop",
      count: 3,
      ids: ["gw-0", "gw-2", "gw-3"],
      reasons: [
        { reason: "crash_loop: exited with 2", count: 2 },
        { reason: "crash_loop: exited with 1", count: 1 },
      ],
      of: 2,
    },
    {
      code: "conflict",
      count: 1,
      ids: ["gw-4"],
      reasons: [{ reason: "conflict", count: 1 }],
      of: 1,
    },
    { code: "unknown", count: 1, ids: ["gw-6"], reasons: [{ reason: "unknown", count: 1 }], of: 1 },
  ]);
});

it("names three reasons and 20 sentinels of a code, and counts all", () => {
  const cells = Array.from({ length: 50 }, (_, n): [SentinelMark, string] => [
    "f",
    `crash_loop: container ${n} exited`,
  ]);

  const [group] = failuresOf(pictureOf(cells));

  expect(group).toMatchObject({ count: 50, of: 50 });
  expect(group?.ids).toHaveLength(20);
  expect(group?.reasons).toHaveLength(3);
});
