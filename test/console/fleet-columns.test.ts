import fc from "fast-check";
import { expect, it } from "vitest";
import type { FleetColumns, SentinelMark } from "#console/contract.ts";
import { countCells, diffColumns, toColumns } from "#console/fleet-columns.ts";
import { createReplay } from "#console/live-replay.ts";

const cell = fc.record({
  mark: fc.constantFrom<SentinelMark>("w", "p", "s", "f"),
  wave: fc.integer({ min: 0, max: 3 }),
  reason: fc.option(fc.constantFrom("image_pull_failed", "timeout")),
});
type Cell = { mark: SentinelMark; wave: number; reason: string | null };

function columnsOf(cells: readonly Cell[], rolloutId = "r-1"): FleetColumns {
  const reasons = cells.flatMap(({ reason }, index) => (reason === null ? [] : [[index, reason]]));
  return {
    rollout_id: rolloutId,
    regions: [{ name: "eu", size: cells.length }],
    ids: cells.map((_, index) => `sentinel-${index}`),
    marks: cells.map(({ mark }) => mark).join(""),
    waves: cells.map(({ wave }) => wave),
    reasons: Object.fromEntries(reasons) as Record<string, string>,
  };
}

/** As a page does it. */
function apply(before: FleetColumns, changes: NonNullable<ReturnType<typeof diffColumns>>) {
  const [marks, waves] = [[...before.marks], [...before.waves]];
  const reasons: Record<string, string | null> = { ...before.reasons, ...changes.reasons };
  for (const [mark, wave, runs] of changes.groups) {
    let next = 0;
    for (const [turn, length] of runs.entries()) {
      if (turn % 2 === 1) {
        marks.fill(mark, next, next + length);
        waves.fill(wave, next, next + length);
      }
      next += length;
    }
  }
  const left = Object.entries(reasons).filter(([, why]) => why !== null);
  return { marks: marks.join(""), waves, reasons: Object.fromEntries(left) };
}

const image = "registry.example.com/team/app:v2";

function rowOf(id: string, part: { wave?: number; outcome?: string } = {}) {
  const now = { image: "v1", running_image: "v1", deploy_status: "ready", deploy_reason: null };
  const { wave = null, outcome = null } = part;
  return { id, region: "eu", ...now, wave, outcome, outcome_reason: "pin debug: a leak" };
}

it("marks a sentinel that a pin has held back as left out, without the reason", () => {
  const rows = [rowOf("gw-7", { wave: 1, outcome: "left_out" })];

  const columns = toColumns(rows, { rolloutId: "r-1", image, isActive: true, total: 1 });

  expect(columns).toMatchObject({ marks: "l", waves: [1], reasons: {} });
});

it.each([
  [0, "sw"],
  [2, "sw"],
  [1, "so"],
])("with a total of %i marks one in the rollout and one outside %s", (total, marks) => {
  const rows = [rowOf("gw-1", { wave: 1, outcome: "succeeded" }), rowOf("gw-2")];

  expect(toColumns(rows, { rolloutId: "r-1", image, isActive: true, total }).marks).toBe(marks);
});

it("leads from any picture of a fleet to any other", () => {
  const pictures = fc
    .integer({ min: 0, max: 60 })
    .chain((size) =>
      fc.tuple(...[0, 1].map(() => fc.array(cell, { minLength: size, maxLength: size }))),
    );

  fc.assert(
    fc.property(pictures, ([cells = [], others = []]) => {
      const [before, after] = [columnsOf(cells), columnsOf(others, "r-2")];
      const { marks, waves, reasons } = after;

      const changes = diffColumns(before, after);

      expect(changes).not.toBeNull();
      expect(changes && apply(before, changes)).toEqual({ marks, waves, reasons });
    }),
  );
});

it("takes the whole where the sentinels are others", () => {
  const one = columnsOf([{ mark: "w", wave: 0, reason: null }]);

  expect(diffColumns(one, { ...one, ids: ["another"] })).toBeNull();
  expect(diffColumns(one, columnsOf([]))).toBeNull();
  expect(diffColumns(one, { ...one, regions: [{ name: "us", size: 1 }] })).toBeNull();
});

it("tells nothing of what has not changed", () => {
  const one = columnsOf([{ mark: "f", wave: 1, reason: "timeout" }]);

  expect(countCells(diffColumns(one, { ...one }) ?? { groups: [], reasons: { 0: "x" } })).toBe(0);
});

/** Batches of 1,000 sentinels, scattered over the fleet, are put into waves, deployed and done. */
function* rolloutOver(size: number): Generator<FleetColumns> {
  const cells = Array.from({ length: size }, (): Cell => ({ mark: "w", wave: 0, reason: null }));
  const order = Array.from({ length: size }, (_, n) => (n * 7_919) % size);
  yield columnsOf(cells);
  for (let first = 0; first < size; first += 1_000) {
    for (const mark of ["p", "s"] as const) {
      for (const index of order.slice(first, first + 1_000)) {
        cells[index] = { mark, wave: 1 + Math.floor(first / 2_500), reason: null };
      }
      yield columnsOf(cells);
    }
  }
}

it("shows a rollout of 10,000 sentinels to a viewer in less than half a megabyte", () => {
  const replay = createReplay("epoch");
  let bytes = 0;

  for (const columns of rolloutOver(10_000)) {
    const before = replay.columns();
    const changes = before === undefined ? null : diffColumns(before, columns);
    bytes += JSON.stringify(changes ?? columns).length;
    if (changes === null) replay.replace(columns);
    else replay.change(columns, changes);
  }

  expect(bytes).toBeLessThan(500_000);
}, 60_000);

it("gives a viewer who missed too much the whole once, and one who missed little the rest", () => {
  const size = 12_000;
  const pictures = (["w", "p", "s", "f", "r"] as const).map((mark) =>
    columnsOf(Array.from({ length: size }, () => ({ mark, wave: 1, reason: null }))),
  );
  const replay = createReplay("epoch");
  const ids = pictures.map((columns) => {
    const before = replay.columns();
    const changes = before === undefined ? null : diffColumns(before, columns);
    return changes === null ? replay.replace(columns) : replay.change(columns, changes);
  });

  const late = replay.since(ids[1]);
  const recent = replay.since(ids.at(-2));

  expect(late).toEqual([expect.objectContaining({ name: "fleet", data: pictures.at(-1) })]);
  expect(recent.map(({ name }) => name)).toEqual(["marks"]);
}, 60_000);
