/** Operations as fast-check commands: each is done on a real rollout and on the model, and compared. */
import fc from "fast-check";
import { expect } from "vitest";
import { RolloutPlan } from "#rollout/contract.ts";
import { failing } from "./memory-fleet.ts";
import { ChangeStep, LiftStep, ReconcileStep } from "./rollout-drift-steps.ts";
import { gateOf } from "./rollout-gates.ts";
import { HeldRolloutStep, PausedRolloutStep } from "./rollout-held-steps.ts";
import type { ModelPolicy, RolloutModel } from "./rollout-model.ts";
import { PinStep } from "./rollout-pin-step.ts";
import { callAndCompare, nextImage, type Real, Step } from "./rollout-step.ts";
import {
  ApproveStep,
  ConfirmStep,
  FreezeStep,
  PauseStep,
  SkipStep,
  ThawStep,
} from "./rollout-wait-steps.ts";

/** Rollout, to where it stands still. */
class RolloutStep extends Step {
  readonly #failing: Set<string>;
  readonly #percentages: number[];
  readonly #policy: ModelPolicy;

  constructor(failingIds: string[], percentages: number[], policy: ModelPolicy) {
    super();
    this.#failing = new Set(failingIds);
    this.#percentages = percentages;
    this.#policy = policy;
  }

  async run(model: RolloutModel, real: Real): Promise<void> {
    real.bench.fleet.behave(failing(this.#failing));
    const mostUnavailable = this.#isUnhindered(model) ? this.#policy.mostUnavailable : undefined;
    const body = {
      image: nextImage(),
      wave_percentages: this.#percentages,
      ...(this.#policy.tolerates && { max_failed: { in_all: "100%" } }),
      ...(this.#policy.rollsBack && { on_failure: "rollback" }),
      ...(this.#policy.soaks && { soak_seconds: 3_600 }),
      ...(this.#policy.approvals && { approvals: this.#policy.approvals }),
      ...(this.#policy.gate && { gates: [gateOf(this.#policy.gate)] }),
      ...(mostUnavailable && { max_unavailable: mostUnavailable }),
    };
    real.bench.fleet.forgetMaxInFlight();
    const plan = RolloutPlan.parse((await real.bench.call("Plan", body)).body);
    const move = () => {
      model.begin(body.image, plan, {
        ...this.#policy,
        mostUnavailable,
        isOneWave: this.#percentages.length === 1,
      });
      model.run(this.#failing);
    };
    await callAndCompare(model, real, { operation: "Rollout", body, move });
    const most = mostUnavailable ?? real.bench.maxParallel;
    expect(real.bench.fleet.maxInFlight()).toBeLessThanOrEqual(most);
  }

  /** What fails would count as unavailable, too: the model knows no order of deploys. */
  #isUnhindered({ isFrozen }: RolloutModel): boolean {
    const { soaks, approvals, gate } = this.#policy;
    const waits = soaks || approvals !== undefined || (gate !== undefined && gate !== "pass");
    return this.#failing.size === 0 && !waits && !isFrozen;
  }

  toString() {
    const policy = JSON.stringify(this.#policy);
    return `Rollout(${this.#percentages}; failing ${[...this.#failing]}; ${policy})`;
  }
}

class ResumeStep extends Step {
  readonly #failing: Set<string>;
  readonly #retries: boolean;

  constructor(failingIds: string[], retries: boolean) {
    super();
    this.#failing = new Set(failingIds);
    this.#retries = retries;
  }

  async run(model: RolloutModel, real: Real): Promise<void> {
    real.bench.fleet.behave(failing(this.#failing));
    const move = () => (this.#retries ? model.retry(this.#failing) : model.resume(this.#failing));
    const body = this.#retries ? { retry_failed: true } : {};
    await callAndCompare(model, real, { operation: "Resume", body, move });
  }

  toString() {
    return `Resume(failing ${[...this.#failing]}; retries: ${this.#retries})`;
  }
}

class CancelStep extends Step {
  async run(model: RolloutModel, real: Real): Promise<void> {
    await callAndCompare(model, real, { operation: "Cancel", move: () => model.cancel() });
  }

  toString() {
    return "Cancel";
  }
}

class RollbackStep extends Step {
  readonly #failing: Set<string>;
  readonly #includes: boolean;

  constructor(failingIds: string[], includes: boolean) {
    super();
    this.#failing = new Set(failingIds);
    this.#includes = includes;
  }

  async run(model: RolloutModel, real: Real): Promise<void> {
    real.bench.fleet.behave(failing(this.#failing));
    let reverted: string[] = [];
    const move = () => {
      reverted = this.#includes ? model.rollBackAll(this.#failing) : model.rollBack(this.#failing);
    };
    const body = this.#includes ? { include_failed: true } : {};
    const answer = await callAndCompare(model, real, { operation: "RollbackAll", body, move });
    if (answer === undefined) return;
    const left = (answer.body["not_reverted"] as { id: string }[]).map(({ id }) => id);
    expect(answer.body["reverted"]).toBe(reverted.length);
    expect(left.sort()).toEqual([...model.succeeded].sort());
  }

  toString() {
    return `RollbackAll(failing ${[...this.#failing]}; includes failed: ${this.#includes})`;
  }
}

const unhindered: ModelPolicy = { tolerates: false, rollsBack: false, soaks: false, gate: "pass" };

/** Random operations over a fleet with these ids. */
export function rolloutCommands(ids: string[]) {
  const someFailing: fc.Arbitrary<string[]> = fc.oneof(
    { weight: 2, arbitrary: fc.constant<string[]>([]) },
    { weight: 3, arbitrary: fc.subarray(ids, { maxLength: 3 }) },
  );
  const percentages = fc.constantFrom<number[]>(
    [100],
    [50, 100],
    [1, 50, 100],
    [1, 25, 50, 75, 100],
  );
  const policies = fc.record({
    tolerates: fc.boolean(),
    rollsBack: fc.boolean(),
    soaks: fc.boolean(),
    approvals: fc.option(fc.constantFrom("last_wave", "after_first", "every_wave"), {
      nil: undefined,
      freq: 2,
    }),
    mostUnavailable: fc.option(fc.constant(1), { nil: undefined, freq: 2 }),
    gate: fc.option(fc.constantFrom("pause", "pass", "fail", "pending"), {
      nil: undefined,
      freq: 2,
    }),
  });
  const someChange = fc
    .tuple(
      fc.subarray(ids, { minLength: 1, maxLength: 3 }),
      fc.constantFrom("by hand" as const, "put back" as const, "replaced" as const),
    )
    .map(([list, kind]) => new ChangeStep(list, kind));
  return fc.commands<RolloutModel, Real, false>(
    [
      fc
        .tuple(someFailing, percentages, policies)
        .map(([list, waves, policy]) => new RolloutStep(list, waves, policy)),
      someFailing.map((list) => new PausedRolloutStep(list)),
      fc.tuple(someFailing, fc.boolean()).map(([list, back]) => new HeldRolloutStep(list, back)),
      fc.tuple(someFailing, fc.boolean()).map(([list, retries]) => new ResumeStep(list, retries)),
      someFailing.map((list) => new SkipStep(list)),
      someFailing.map((list) => new ApproveStep(list)),
      someFailing.map((list) => new ConfirmStep(list)),
      fc.constant(new PauseStep()),
      fc.subarray(ids, { maxLength: 3 }).map((list) => new PinStep(list)),
      someChange,
      fc
        .tuple(percentages, policies, someChange, fc.boolean())
        .map(
          ([waves, { mostUnavailable }, change, lifts]) =>
            new ReconcileStep(
              new RolloutStep([], waves, { ...unhindered, mostUnavailable }),
              change,
              lifts,
            ),
        ),
      fc.constant(new LiftStep()),
      fc.constant(new FreezeStep()),
      fc.tuple(someFailing, fc.boolean()).map(([list, byTime]) => new ThawStep(list, byTime)),
      fc.constant(new CancelStep()),
      fc
        .tuple(someFailing, fc.boolean())
        .map(([list, includes]) => new RollbackStep(list, includes)),
    ],
    { maxCommands: 8, size: "max" },
  );
}
