/** A rollout's own policy gives its own end: random rollouts as the model of the state machine runs them. */
import fc from "fast-check";
import { expect, it } from "vitest";
import { replay } from "#rollout/replay/replay.ts";
import { buildFacts } from "../../support/rollout/replay-facts.ts";
import { RolloutModel } from "../../support/rollout/rollout-model.ts";

const ends = { completed: "completed", paused: "paused", cancelled: "rolled_back" } as const;

const percentages = fc
  .uniqueArray(fc.integer({ min: 1, max: 99 }), { maxLength: 5 })
  .map((list) => [...list.sort((a, b) => a - b), 100]);

const rollouts = fc.record({
  size: fc.integer({ min: 1, max: 60 }),
  wavePercentages: percentages,
  parallel: fc.integer({ min: 1, max: 8 }),
  gapMs: fc.integer({ min: 0, max: 100_000 }),
  failing: fc.array(fc.integer({ min: 0, max: 59 }), { maxLength: 4 }),
  tolerates: fc.boolean(),
  rollsBack: fc.boolean(),
});

it("a rollout that is replayed with its own policy ends as it really did", () => {
  fc.assert(
    fc.property(rollouts, ({ failing, tolerates, rollsBack, ...shape }) => {
      const policy = {
        ...(tolerates && { max_failed: { in_all: "100%" as const } }),
        ...(rollsBack && { on_failure: "rollback" as const }),
      };
      const plan = buildFacts({ ...shape, policy });
      const failed = failing.flatMap((i) => plan.members[i]?.id ?? []);
      const waves = Map.groupBy(plan.members, ({ wave }) => wave);
      const sentinels = [...waves.values()].map((ofWave) => ofWave.map(({ id }) => id));
      const model = new RolloutModel(new Map(plan.members.map(({ id }) => [id, "v1"])));
      const planned = sentinels.map((ids) => ({ sentinels: ids }));
      model.begin(
        "v2",
        { waves: planned, left_out_count: 0 },
        { tolerates, rollsBack, soaks: false },
      );
      model.run(new Set(failed));
      const took = sentinels.slice(0, model.currentWave).flat().length;

      const facts = buildFacts({ ...shape, policy }, { failed, waves: model.currentWave });
      const { would, fewer, longer_seconds } = replay(facts, {});

      expect({ end: would.end, wave: would.wave, ordered: would.ordered }).toEqual({
        end: ends[model.state as keyof typeof ends],
        wave: model.currentWave,
        ordered: took,
      });
      expect({ failed: would.failed, unknown: would.unknown, fewer, longer_seconds }).toEqual({
        ...{ failed: model.failed.size, unknown: 0, fewer: 0, longer_seconds: 0 },
      });
    }),
    { numRuns: 300 },
  );
});

it("a policy that stops sooner never orders more, and never takes longer", () => {
  fc.assert(
    fc.property(rollouts, fc.integer({ min: 0, max: 3 }), ({ failing, ...shape }, most) => {
      const policy = { max_failed: { in_all: "100%" as const } };
      const plan = buildFacts({ ...shape, policy });
      const failed = failing.flatMap((i) => plan.members[i]?.id ?? []);

      const facts = buildFacts({ ...shape, policy }, { failed });
      const { would, fewer, longer_seconds } = replay(facts, { max_failed: { in_all: most } });

      expect(would.end === "paused").toBe(new Set(failed).size > most);
      expect(fewer).toBeGreaterThanOrEqual(0);
      expect(longer_seconds).toBeLessThanOrEqual(0);
    }),
    { numRuns: 300 },
  );
});
