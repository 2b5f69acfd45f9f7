/** A step of the model test that changes which sentinels a pin holds back. */
import { expect } from "vitest";
import { pinsName } from "#rollout/choice/contract.ts";
import type { RolloutBench } from "./rollout-bench.ts";
import type { RolloutModel } from "./rollout-model.ts";
import { type Real, Step } from "./rollout-step.ts";

const pinId = "held-back";

/** Pins these sentinels instead of those that were; without any there is no pin any more. */
export class PinStep extends Step {
  readonly #ids: string[];

  constructor(ids: string[]) {
    super();
    this.#ids = ids;
  }

  async run(model: RolloutModel, { bench }: Real): Promise<void> {
    // Its waves come from the Plan of before.
    const isPlanned = model.state === "in_progress" || model.state === "paused";
    if (isPlanned && !model.isCaptured) return;
    await unpin(model, bench);
    if (this.#ids.length === 0) return;
    const pin = { id: pinId, ids: this.#ids, reason: "a test" };
    expect((await bench.post(`${pinsName}/Add`, pin)).status).toBe(200);
    model.pinned = new Set(this.#ids);
  }

  toString() {
    return `Pin(${this.#ids})`;
  }
}

export async function unpin(model: RolloutModel, bench: RolloutBench): Promise<void> {
  if (model.pinned.size === 0) return;
  const removed = await bench.post(`${pinsName}/Remove`, { id: pinId, reason: "a test" });
  expect(removed.status).toBe(200);
  model.pinned = new Set();
}
