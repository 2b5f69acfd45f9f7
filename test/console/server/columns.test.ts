import { expect, it } from "vitest";
import { toStore } from "#console/events.ts";
import { type FleetRow, toColumns } from "#console/server/columns.ts";

const image = "registry.example.com/team/app:v2";
const shown = { image, state: "in_progress", total: 1 } as const;

function rowOf(id: string, part: Partial<FleetRow> = {}): FleetRow {
  const now = { image: "v1", running_image: "v1", deploy_status: "ready", deploy_reason: null };
  const out = { wave: null, outcome: null, outcome_reason: "pin debug: a leak", failure: null };
  return { id, region: "eu", ...now, is_ordered: false, ...out, ...part };
}

it("marks a sentinel that a pin has held back as left out, without the reason", () => {
  const rows = [rowOf("gw-7", { wave: 1, outcome: "left_out" })];

  expect(toColumns(rows, shown)).toMatchObject({ marks: "l", waves: [1], reasons: [] });
});

it.each([
  [0, "so"],
  [2, "sw"],
  [1, "so"],
])("with a total of %i marks one in the rollout and one outside %s", (total, marks) => {
  const rows = [rowOf("gw-1", { wave: 1, outcome: "succeeded" }), rowOf("gw-2")];

  expect(toColumns(rows, { ...shown, total }).marks).toBe(marks);
});

const ready = { image, running_image: image, deploy_status: "ready" };

it("counts a deploy that has ended as a result only once it is recorded", () => {
  const ended = { ...ready, is_ordered: true, wave: 1 };

  const marks = [rowOf("gw-1", ended), rowOf("gw-2", { ...ended, outcome: "succeeded" })];

  expect(toColumns(marks, { ...shown, total: 2 }).marks).toBe("ps");
});

it("shows a member whose last order is from before the rollout as waiting", () => {
  const failed = { image, deploy_status: "failed", wave: 1 };

  expect(toColumns([rowOf("gw-1", failed)], shown).marks).toBe("w");
});

it.each([
  ["being reverted", { outcome: "succeeded", image: "v1" }, "p"],
  ["not yet reverted", { ...ready, outcome: "succeeded" }, "s"],
  ["reverted", { outcome: "reverted" }, "r"],
  ["not reverted before", { outcome: "not_reverted", deploy_status: "failed" }, "n"],
  ["tried again", { outcome: "not_reverted", deploy_status: "progressing" }, "p"],
])("in a rollback marks one that is %s", (_, part, mark) => {
  const rows = [rowOf("gw-1", { wave: 1, ...part })];

  expect(toColumns(rows, { ...shown, state: "rolling_back" }).marks).toBe(mark);
});

const pinned = `${image}@sha256:${"b".repeat(64)}`;
const byDigest = `registry.example.com/team/app@sha256:${"b".repeat(64)}`;

it("shows a deploy that has ended as in progress by any name of the image", () => {
  const ended = { ...ready, image: byDigest, is_ordered: true, wave: 1 };

  expect(toColumns([rowOf("gw-1", ended)], { ...shown, image: pinned }).marks).toBe("p");
});

it("does not show one as waiting that runs the image by another name", () => {
  const rows = [
    rowOf("gw-1", { wave: 1, outcome: "succeeded" }),
    rowOf("gw-2", { image: byDigest, running_image: byDigest }),
  ];

  expect(toColumns(rows, { ...shown, image: pinned, total: 2 }).marks).toBe("so");
});

it("sends the text of a reason once, however many sentinels have it", () => {
  const rows = Array.from({ length: 50 }, (_, n) =>
    rowOf(`gw-${n}`, { wave: 1, outcome: "failed", outcome_reason: "timeout: 60 s" }),
  );

  expect(toColumns(rows, { ...shown, total: 50 }).reasons).toEqual([["timeout: 60 s", [0, 50]]]);
});

it("sends only the codes of very many reasons", () => {
  const rows = Array.from({ length: 1_001 }, (_, n) =>
    rowOf(`gw-${n}`, { wave: 1, outcome: "failed", outcome_reason: `timeout: of ${n}` }),
  );

  const { reasons } = toStore(toColumns(rows, { ...shown, total: rows.length }));

  expect(new Set(reasons.values())).toEqual(new Set(["timeout"]));
});
