/** The counts of a rollout under records that come twice, late, in any order, and contradict each other. */
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { applyResults, emptyOutcome, type RunKind, targetsOf } from "#rollout/rules/outcome.ts";
import { applyStep } from "#rollout/rules/progress.ts";
import type { Batch, Outcome, RolloutHead } from "#rollout/state.ts";
import { buildBatch, buildHead, buildWave, imageV2 } from "../support/rollout/rollout-builders.ts";

const ids = ["a", "b", "c", "d", "e", "f"];
const batches: Batch[] = [buildBatch(ids.slice(0, 3)), { ...buildBatch(ids.slice(3)), wave: 1 }];

type World = { head: RolloutHead; outcomes: Outcome[] };

const newWorld = (): World => ({
  head: buildHead({
    total: ids.length,
    waves: [buildWave({ size: 3 }), buildWave({ size: 3, percentage: 100, firstBatch: 1 })],
  }),
  outcomes: batches.map((batch) => ({ ...emptyOutcome(batch), open: true })),
});

type Event =
  | { type: "record"; batch: number; kind: RunKind; results: [number, boolean][]; torn: boolean }
  | { type: "rollback begins" };

const anEvent: fc.Arbitrary<Event> = fc.oneof(
  {
    weight: 6,
    arbitrary: fc.record({
      type: fc.constant("record" as const),
      batch: fc.nat(1),
      kind: fc.constantFrom<RunKind>("rollout", "rollback"),
      results: fc.array(fc.tuple(fc.nat(3), fc.boolean()), { maxLength: 5 }),
      /** The handler is killed after it has written the outcome and before the head. */
      torn: fc.boolean(),
    }),
  },
  { weight: 1, arbitrary: fc.constant({ type: "rollback begins" as const }) },
);

function step(world: World, event: Event): World {
  const { head, outcomes } = world;
  if (event.type === "rollback begins") {
    return {
      ...world,
      head: { ...head, revertedBefore: head.reverted, revertedByLastRollback: 0, notReverted: [] },
    };
  }
  const { batch: n, kind } = event;
  const batch = batches[n] as Batch;
  const before = outcomes[n] as Outcome;
  const results = event.results.map(([index, ok]) => ({
    index,
    id: batch.ids[index] ?? "nobody",
    ok,
    ...(!ok && { reason: "crash_loop", ...(index === 0 && { ofFleet: true as const }) }),
  }));
  const { outcome: after } = applyResults(batch, before, { kind, results });
  const written = outcomes.map((one, i) => (i === n ? after : one));
  if (event.torn) return { head, outcomes: written };
  return { head: applyStep(head, { n, batch, after }), outcomes: written };
}

/** Every batch is recorded once more without results, as a batch does at its end. */
const settle = (world: World): World =>
  [0, 1].reduce<World>(
    (done, batch) =>
      step(done, { type: "record", batch, kind: "rollout", results: [], torn: false }),
    world,
  );

const count = (world: World, marks: string) =>
  world.outcomes.reduce(
    (sum, outcome) => sum + [...outcome.marks].filter((mark) => marks.includes(mark)).length,
    0,
  );

const histories = fc.array(anEvent, { maxLength: 30 });

describe("the counts of a rollout, whatever is recorded in whatever order", () => {
  it("are those of a recount of its sentinels' outcomes", () => {
    fc.assert(
      fc.property(histories, (events) => {
        const world = settle(events.reduce(step, newWorld()));

        const { head } = world;
        expect(head.succeeded).toBe(count(world, "sn"));
        expect(head.failed).toBe(count(world, "f"));
        expect(head.reverted).toBe(count(world, "r"));
        expect(head.waves.map(({ fleetFailed = 0 }) => fleetFailed)).toEqual(
          world.outcomes.map(({ marks }) => Number(marks[0] === "f")),
        );
      }),
    );
  });

  it("are never negative and never more than there are sentinels", () => {
    fc.assert(
      fc.property(histories, (events) => {
        const { head } = events.reduce(step, newWorld());

        const counts = [head.succeeded, head.failed, head.reverted, head.revertedByLastRollback];
        expect(Math.min(...counts)).toBeGreaterThanOrEqual(0);
        expect(head.succeeded + head.failed + head.reverted).toBeLessThanOrEqual(head.total);
        for (const wave of head.waves) {
          expect(wave.succeeded + wave.failed).toBeLessThanOrEqual(wave.size);
        }
      }),
    );
  });

  it("change nothing by a history that comes a second time", () => {
    fc.assert(
      fc.property(histories, (events) => {
        const records = events.filter(({ type }) => type === "record");
        const once = settle(records.reduce(step, newWorld()));

        const again = settle(once);

        expect(again).toEqual(once);
      }),
    );
  });

  it("name each sentinel in one list at most, and once", () => {
    fc.assert(
      fc.property(histories, (events) => {
        const { head } = settle(events.reduce(step, newWorld()));

        const named = [...(head.succeededIds ?? []), ...(head.failedIds ?? [])];
        const left = head.notReverted.map(({ id }) => id);
        expect(new Set(named).size).toBe(named.length);
        expect(new Set(left).size).toBe(left.length);
        expect(head.succeededIds).toHaveLength(head.succeeded);
        expect(head.failedIds).toHaveLength(head.failed);
        expect(head.failedSample).toHaveLength(head.failed);
      }),
    );
  });
});

describe("a batch that was killed", () => {
  it("is rolled back as a whole, also after another one over the rest of it has ended", () => {
    const [batch] = batches;
    const outcome = { marks: "s.f", reasons: {}, ofFleet: [], open: false, lost: true };

    const targets = targetsOf(batch as Batch, outcome, { kind: "rollback", image: imageV2 });

    expect(targets.map(({ id }) => id)).toEqual(["a", "b"]);
  });
});
