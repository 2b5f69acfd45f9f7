/** What the rollout object answers a run that it has stopped. */
import type { ObjectContext } from "@restatedev/restate-sdk";
import { expect, it } from "vitest";
import { launchBatch } from "#rollout/handlers/batches.ts";
import { toCapture } from "#rollout/handlers/waves.ts";
import type { RolloutHead } from "#rollout/state.ts";
import { buildBatch, buildHead, buildWave } from "../../support/rollout/rollout-builders.ts";

/** A context with this state, which fails if anything is sent. */
function contextOf(head: RolloutHead) {
  const state = new Map<string, unknown>([
    ["rolloutState", head],
    ["batch:0", buildBatch(["a", "b", "c"])],
  ]);
  const written: string[] = [];
  const ctx = {
    get: async (key: string) => state.get(key) ?? null,
    set: (key: string) => void written.push(key),
  } as unknown as ObjectContext;
  return { ctx, written };
}

it("gets no fleet to freeze once another run leads", async () => {
  const { ctx, written } = contextOf(buildHead({ captured: false, runner: "inv_2" }));

  expect(await toCapture(ctx, { rolloutId: "r-1", runner: "inv_1" })).toBeNull();
  expect(written).toEqual([]);
  expect(await toCapture(ctx, { rolloutId: "r-1", runner: "inv_2" })).not.toBeNull();
});

it("gets no further batch launched once the failure budget is used up", async () => {
  const waves = [buildWave({ size: 3, failed: 2 })];
  const { ctx, written } = contextOf(buildHead({ waves, policy: { max_failed: { per_wave: 1 } } }));
  const launch = {
    rolloutId: "r-1",
    runner: "inv_1",
    batch: 0,
    kind: "rollout",
    parallel: 1,
  } as const;

  expect(await launchBatch(ctx, launch)).toBe("stopped");
  expect(written).toEqual([]);
});
