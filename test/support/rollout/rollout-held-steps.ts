/** Steps of the model test in which an operation comes while deploys are in flight. */
import { expect } from "vitest";
import { RolloutPlan } from "#rollout/contract.ts";
import { waitFor } from "../wait-for.ts";
import { failing } from "./memory-fleet.ts";
import type { RolloutBench } from "./rollout-bench.ts";
import type { RolloutModel } from "./rollout-model.ts";
import { expectAgreement, expectLegality, nextImage, type Real, Step } from "./rollout-step.ts";
import { untilInFlight } from "./standstill.ts";

/** Rollout, with its first deploys held. `ordered`: their ids. */
async function beginHeld(model: RolloutModel, bench: RolloutBench) {
  const request = { image: nextImage(), wave_percentages: [100] };
  const plan = RolloutPlan.parse((await bench.call("Plan", request)).body);
  const before = bench.fleet.applied.length;
  bench.fleet.hold();
  const rollout = bench.call("Rollout", request);
  await waitFor(() => bench.fleet.applied.length === before + bench.maxParallel, {
    withinMs: 10_000,
    what: "the first deploys",
  });
  model.begin(request.image, plan);
  return { request, rollout, ordered: () => bench.fleet.applied.slice(before).map(({ id }) => id) };
}

/** Rollout, and while its first deploys are held: every other operation, then Cancel, then RollbackAll or not. */
export class HeldRolloutStep extends Step {
  readonly #failing: Set<string>;
  readonly #rollsBack: boolean;

  constructor(failingIds: string[], rollsBack: boolean) {
    super();
    this.#failing = new Set(failingIds);
    this.#rollsBack = rollsBack;
  }

  async run(model: RolloutModel, { bench }: Real): Promise<void> {
    if (!model.allows("Rollout") || model.isFrozen) return;
    bench.fleet.behave(failing(this.#failing));
    const { request, rollout, ordered } = await beginHeld(model, bench);

    for (const operation of ["Rollout", "Resume", "RollbackAll"] as const) {
      const refused = await bench.call(operation, operation === "Rollout" ? request : {});
      expectLegality(model, operation, refused);
    }
    const cancelled = await bench.call("Cancel");
    expectLegality(model, "Cancel", cancelled);
    const inFlight = ordered();
    model.cancelDuring(inFlight, this.#failing);

    const rollback = this.#rollsBack ? bench.call("RollbackAll") : undefined;
    bench.fleet.release();
    expect((await rollout).body).toMatchObject({ state: "cancelled", image: request.image });
    if (rollback !== undefined) {
      const reverted = model.rollBack(this.#failing);
      expect((await rollback).body).toMatchObject({
        state: "cancelled",
        reverted: reverted.length,
      });
    }
    // Cancel's callers do not wait for what is in flight.
    await untilInFlight(bench, 0);
    await expectAgreement(model, bench, await bench.call("Status"));
  }

  toString() {
    return `HeldRollout(failing ${[...this.#failing]}; rolls back: ${this.#rollsBack})`;
  }
}

/** Rollout, and while its first deploys are held Pause; then Resume, once they have ended. */
export class PausedRolloutStep extends Step {
  readonly #failing: Set<string>;

  constructor(failingIds: string[]) {
    super();
    this.#failing = new Set(failingIds);
  }

  async run(model: RolloutModel, { bench }: Real): Promise<void> {
    if (!model.allows("Rollout") || model.isFrozen) return;
    bench.fleet.behave(failing(this.#failing));
    const { rollout, ordered } = await beginHeld(model, bench);
    expectLegality(model, "Pause", await bench.call("Pause"));
    expectLegality(model, "Skip", await bench.call("Skip", { reason: "a test" }));
    const inFlight = ordered();
    bench.fleet.release();
    expect((await rollout).body.state).toBe("paused");
    await untilInFlight(bench, 0);

    const resumed = await bench.call("Resume");

    model.pauseDuring(inFlight, this.#failing);
    await expectAgreement(model, bench, resumed);
  }

  toString() {
    return `PausedRollout(failing ${[...this.#failing]})`;
  }
}
