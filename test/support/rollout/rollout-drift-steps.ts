/** Steps of the model test in which somebody else changes sentinels, and the reconciler holds them or brings them back. */
import { expect } from "vitest";
import { pinsName } from "#rollout/choice/contract.ts";
import { waitFor } from "../wait-for.ts";
import type { RolloutBench } from "./rollout-bench.ts";
import type { RolloutModel } from "./rollout-model.ts";
import { expectAgreement, type Real, Step } from "./rollout-step.ts";
import { untilStill } from "./standstill.ts";

const ofHand = "registry.example.com/vedette/sentinel:debug";
let changes = 0;

type Kind = "by hand" | "put back" | "replaced";

/** Between two rollouts sentinels run another image: one of somebody's own, or the one before. */
export class ChangeStep extends Step {
  readonly #ids: string[];
  readonly #kind: Kind;

  constructor(ids: string[], kind: Kind) {
    super();
    this.#ids = ids;
    this.#kind = kind;
  }

  async run(model: RolloutModel, { bench: { fleet } }: Real): Promise<void> {
    if (model.state !== "completed" && model.state !== "cancelled") return;
    changes += 1;
    for (const id of this.#ids) {
      const image = this.#kind === "by hand" ? `${ofHand}${changes}` : model.previousOf(id);
      if (this.#kind === "replaced") {
        fleet.remove(id);
        fleet.add(id);
      }
      fleet.run(id, image);
      model.running.set(id, image);
    }
  }

  toString() {
    return `Change(${this.#ids}; ${this.#kind})`;
  }
}

/** A rollout completes, somebody changes sentinels, and the reconciler has the time that it needs. */
export class ReconcileStep extends Step {
  readonly #rollout: Step;
  readonly #change: ChangeStep;
  readonly #lifts: boolean;

  constructor(rollout: Step, change: ChangeStep, lifts: boolean) {
    super();
    this.#rollout = rollout;
    this.#change = change;
    this.#lifts = lifts;
  }

  async run(model: RolloutModel, real: Real): Promise<void> {
    if (!model.allows("Rollout") || model.isFrozen) return;
    await this.#rollout.run(model, real);
    await this.#change.run(model, real);
    await this.#reconcile(model, real);
    if (!this.#lifts) return;
    await lift(model, real.bench);
    await this.#reconcile(model, real);
  }

  async #reconcile(model: RolloutModel, { bench, drift }: Real): Promise<void> {
    if (!model.isReconcilable) return;
    bench.fleet.behave(() => ({ status: "ready" }));
    bench.fleet.forgetMaxInFlight();
    const before = bench.fleet.applied.length;
    const due = model.reconcile((image) => image.startsWith(ofHand));

    drift.on = "converge";
    for (let check = 0; check < 3; check += 1) {
      await checkOnce(bench, model);
    }
    drift.on = "report";

    const ordered = bench.fleet.applied.slice(before).map(({ id }) => id);
    expect(ordered.toSorted()).toEqual(due.toSorted());
    expect(bench.fleet.maxInFlight()).toBeLessThanOrEqual(
      model.mostUnavailable ?? bench.maxParallel,
    );
    expect(await heldIds(bench)).toEqual([...model.held].toSorted());
    const status = await bench.call("Status");
    const { total_waves: waves, left_out: leftOut } = status.body;
    if (due.length > 0) model.adopt(due, { waves: Number(waves), leftOut: Number(leftOut) });
    await expectAgreement(model, bench, status);
  }

  toString() {
    return `Reconcile(${this.#rollout}; ${this.#change}; lifts: ${this.#lifts})`;
  }
}

/** History may not have the end of the last rollout yet. */
async function checkOnce(bench: RolloutBench, model: RolloutModel): Promise<void> {
  const found = await waitFor(
    async () => {
      const said = await bench.checkDrift();
      return said !== "not known now" && said;
    },
    { withinMs: 10_000, what: "history to have the last rollout" },
  );
  if (!found.includes("converging")) return;
  const areBack = () =>
    [...model.running].every(([id, image]) => bench.fleet.running().get(id) === image);
  await waitFor(areBack, { withinMs: 15_000, what: "the drifted sentinels to be brought back" });
  await untilStill(bench);
}

async function readHolds(bench: RolloutBench): Promise<{ id: string; ids: string[] }[]> {
  const select = "SELECT id, ids FROM rollout_pins WHERE added_by = 'reconciler'";
  return (await bench.database.query(select)).rows;
}

const heldIds = async (bench: RolloutBench) =>
  (await readHolds(bench)).flatMap(({ ids }) => ids).toSorted();

/** Somebody releases what the reconciler holds. */
export class LiftStep extends Step {
  async run(model: RolloutModel, { bench }: Real): Promise<void> {
    // Its waves come from the Plan of before.
    const isPlanned = model.state === "in_progress" || model.state === "paused";
    if (!isPlanned || model.isCaptured) await lift(model, bench);
  }

  toString() {
    return "Lift";
  }
}

export async function lift(model: RolloutModel, bench: RolloutBench): Promise<void> {
  for (const { id } of await readHolds(bench)) {
    const removed = await bench.post(`${pinsName}/Remove`, { id, reason: "a test" });
    expect(removed.status).toBe(200);
  }
  model.held.clear();
}
