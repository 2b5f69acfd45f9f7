/** Steps of the model test that make a rollout wait, and end its waits. */
import { expect } from "vitest";
import { windowsName } from "#rollout/windows/contract.ts";
import { failing } from "./memory-fleet.ts";
import type { RolloutBench } from "./rollout-bench.ts";
import type { RolloutModel } from "./rollout-model.ts";
import { callAndCompare, expectLegality, expectStanding, type Real, Step } from "./rollout-step.ts";

const freezeId = "year-end";

/** A freeze, which holds for waves that have not begun. */
export class FreezeStep extends Step {
  async run(model: RolloutModel, { bench }: Real): Promise<void> {
    if (model.isFrozen) return;
    await addFreeze(bench, { id: freezeId });
    model.isFrozen = true;
    if (model.state !== "idle") await expectStanding(model, bench);
  }

  toString() {
    return "Freeze";
  }
}

/** The end of the freeze: it is removed, or another one that replaces it ends by itself. */
export class ThawStep extends Step {
  readonly #failing: Set<string>;
  readonly #byTime: boolean;

  constructor(failingIds: string[], byTime: boolean) {
    super();
    this.#failing = new Set(failingIds);
    this.#byTime = byTime;
  }

  async run(model: RolloutModel, { bench }: Real): Promise<void> {
    if (!model.isFrozen) return;
    bench.fleet.behave(failing(this.#failing));
    if (this.#byTime) await addFreeze(bench, { id: "ends", endsInMs: 400 });
    await thaw(bench);
    model.thaw(this.#failing);
    if (model.state !== "idle") await expectStanding(model, bench);
    if (this.#byTime) await removeFreeze(bench, "ends");
  }

  toString() {
    return `Thaw(failing ${[...this.#failing]}; by time: ${this.#byTime})`;
  }
}

export class SkipStep extends Step {
  readonly #failing: Set<string>;

  constructor(failingIds: string[]) {
    super();
    this.#failing = new Set(failingIds);
  }

  async run(model: RolloutModel, { bench }: Real): Promise<void> {
    bench.fleet.behave(failing(this.#failing));
    const answer = await bench.call("Skip", { reason: "a test" });
    if (!expectLegality(model, "Skip", answer)) return;
    model.skip(this.#failing);
    await expectStanding(model, bench);
  }

  toString() {
    return `Skip(failing ${[...this.#failing]})`;
  }
}

/** By an operator; nobody else may. */
export class ApproveStep extends Step {
  readonly #failing: Set<string>;

  constructor(failingIds: string[]) {
    super();
    this.#failing = new Set(failingIds);
  }

  async run(model: RolloutModel, { bench }: Real): Promise<void> {
    bench.fleet.behave(failing(this.#failing));
    if (model.allows("Approve")) expect((await bench.call("Approve")).status).toBe(403);
    const answer = await bench.callAs("ben", "Approve");
    if (!expectLegality(model, "Approve", answer)) return;
    model.approve(this.#failing);
    await expectStanding(model, bench);
  }

  toString() {
    return `Approve(failing ${[...this.#failing]})`;
  }
}

/** By anybody who may approve. */
export class ConfirmStep extends Step {
  readonly #failing: Set<string>;

  constructor(failingIds: string[]) {
    super();
    this.#failing = new Set(failingIds);
  }

  async run(model: RolloutModel, { bench }: Real): Promise<void> {
    bench.fleet.behave(failing(this.#failing));
    const answer = await bench.callAs("ben", "Approve", { gate: "gate" });
    if (!expectLegality(model, "Confirm", answer)) return;
    model.confirm(this.#failing);
    await expectStanding(model, bench);
  }

  toString() {
    return `Confirm(failing ${[...this.#failing]})`;
  }
}

export class PauseStep extends Step {
  async run(model: RolloutModel, real: Real): Promise<void> {
    await callAndCompare(model, real, { operation: "Pause", move: () => model.pause() });
  }

  toString() {
    return "Pause";
  }
}

async function addFreeze(
  bench: RolloutBench,
  { id, endsInMs }: { id: string; endsInMs?: number },
): Promise<void> {
  const ends = endsInMs && { ends: new Date(Date.now() + endsInMs).toISOString() };
  const freeze = { id, kind: "freeze", reason: "a test", ...ends };
  expect((await bench.post(`${windowsName}/Add`, freeze)).status).toBe(200);
}

export const thaw = (bench: RolloutBench) => removeFreeze(bench, freezeId);

async function removeFreeze(bench: RolloutBench, id: string): Promise<void> {
  const removed = await bench.post(`${windowsName}/Remove`, { id, reason: "a test" });
  expect(removed.status).toBe(200);
}
