/** Operations as fast-check commands: each is done on a real rollout and on the model, and compared. */
import fc from "fast-check";
import { expect } from "vitest";
import { RolloutPlan } from "#rollout/contract.ts";
import { waitFor } from "../wait-for.ts";
import { failing } from "./memory-fleet.ts";
import type { Answer, RolloutBench } from "./rollout-bench.ts";
import type { ModelOperation, ModelPolicy, RolloutModel } from "./rollout-model.ts";

type Command = fc.AsyncCommand<RolloutModel, RolloutBench>;

/** Each rollout gets an image of its own, so that no sentinel is left out because it runs it already. */
let imageNumber = 0;
const nextImage = () => `registry.example.com/vedette/sentinel:m${++imageNumber}`;

abstract class Step implements Command {
  check(): boolean {
    return true;
  }

  abstract run(model: RolloutModel, bench: RolloutBench): Promise<void>;
  abstract toString(): string;
}

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

  async run(model: RolloutModel, bench: RolloutBench): Promise<void> {
    bench.fleet.behave(failing(this.#failing));
    const request = {
      image: nextImage(),
      wave_percentages: this.#percentages,
      ...(this.#policy.tolerates && { max_failed: { in_all: "100%" } }),
      ...(this.#policy.rollsBack && { on_failure: "rollback" }),
    };
    const plan = RolloutPlan.parse((await bench.call("Plan", request)).body);

    const answer = await bench.call("Rollout", request);

    if (!expectLegality(model, "Rollout", answer)) return;
    model.begin(
      request.image,
      plan.waves.map(({ sentinels }) => sentinels),
      this.#policy,
    );
    model.run(this.#failing);
    await expectAgreement(model, bench, answer);
  }

  toString() {
    const policy = JSON.stringify(this.#policy);
    return `Rollout(${this.#percentages}; failing ${[...this.#failing]}; ${policy})`;
  }
}

/** Rollout, and while its first deploys are held: every other operation, then Cancel, then RollbackAll or not. */
class HeldRolloutStep extends Step {
  readonly #failing: Set<string>;
  readonly #rollsBack: boolean;

  constructor(failingIds: string[], rollsBack: boolean) {
    super();
    this.#failing = new Set(failingIds);
    this.#rollsBack = rollsBack;
  }

  async run(model: RolloutModel, bench: RolloutBench): Promise<void> {
    if (!model.allows("Rollout")) return;
    bench.fleet.behave(failing(this.#failing));
    const request = { image: nextImage(), wave_percentages: [100] };
    const [wave] = RolloutPlan.parse((await bench.call("Plan", request)).body).waves;
    const before = bench.fleet.applied.length;
    bench.fleet.hold();
    const rollout = bench.call("Rollout", request);
    await waitFor(() => bench.fleet.applied.length === before + bench.maxParallel, {
      withinMs: 10_000,
      what: "the first deploys",
    });
    model.begin(request.image, [wave?.sentinels ?? []]);

    for (const operation of ["Rollout", "Resume", "RollbackAll"] as const) {
      const refused = await bench.call(operation, operation === "Rollout" ? request : {});
      expectLegality(model, operation, refused);
    }
    const cancelled = await bench.call("Cancel");
    expectLegality(model, "Cancel", cancelled);
    const inFlight = bench.fleet.applied.slice(before).map(({ id }) => id);
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
    await expectAgreement(model, bench, await bench.call("Status"));
  }

  toString() {
    return `HeldRollout(failing ${[...this.#failing]}; rolls back: ${this.#rollsBack})`;
  }
}

/** Rollout, and while its first deploys are held Pause; then Resume, once they have ended. */
class PausedRolloutStep extends Step {
  readonly #failing: Set<string>;

  constructor(failingIds: string[]) {
    super();
    this.#failing = new Set(failingIds);
  }

  async run(model: RolloutModel, bench: RolloutBench): Promise<void> {
    if (!model.allows("Rollout")) return;
    bench.fleet.behave(failing(this.#failing));
    const request = { image: nextImage(), wave_percentages: [100] };
    const [wave] = RolloutPlan.parse((await bench.call("Plan", request)).body).waves;
    const before = bench.fleet.applied.length;
    bench.fleet.hold();
    const rollout = bench.call("Rollout", request);
    await waitFor(() => bench.fleet.applied.length === before + bench.maxParallel, {
      withinMs: 10_000,
      what: "the first deploys",
    });
    model.begin(request.image, [wave?.sentinels ?? []]);
    expectLegality(model, "Pause", await bench.call("Pause"));
    expectLegality(model, "Skip", await bench.call("Skip", { reason: "a test" }));
    const inFlight = bench.fleet.applied.slice(before).map(({ id }) => id);
    bench.fleet.release();
    expect((await rollout).body.state).toBe("paused");
    await waitFor(async () => (await bench.call("Status")).body["in_flight"] === 0, {
      withinMs: 10_000,
      what: "the deploys to end",
    });

    const resumed = await bench.call("Resume");

    model.pauseDuring(inFlight, this.#failing);
    await expectAgreement(model, bench, resumed);
  }

  toString() {
    return `PausedRollout(failing ${[...this.#failing]})`;
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

  async run(model: RolloutModel, bench: RolloutBench): Promise<void> {
    bench.fleet.behave(failing(this.#failing));
    const answer = await bench.call("Resume", this.#retries ? { retry_failed: true } : {});
    if (!expectLegality(model, "Resume", answer)) return;
    if (this.#retries) model.retry(this.#failing);
    else model.run(this.#failing);
    await expectAgreement(model, bench, answer);
  }

  toString() {
    return `Resume(failing ${[...this.#failing]}; retries: ${this.#retries})`;
  }
}

class CancelStep extends Step {
  async run(model: RolloutModel, bench: RolloutBench): Promise<void> {
    const answer = await bench.call("Cancel");
    if (!expectLegality(model, "Cancel", answer)) return;
    model.cancel();
    await expectAgreement(model, bench, answer);
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

  async run(model: RolloutModel, bench: RolloutBench): Promise<void> {
    bench.fleet.behave(failing(this.#failing));
    const answer = await bench.call("RollbackAll", this.#includes ? { include_failed: true } : {});
    if (!expectLegality(model, "RollbackAll", answer)) return;
    const reverted = this.#includes
      ? model.rollBackAll(this.#failing)
      : model.rollBack(this.#failing);
    const left = (answer.body["not_reverted"] as { id: string }[]).map(({ id }) => id);
    expect(answer.body["reverted"]).toBe(reverted.length);
    expect(left.sort()).toEqual([...model.succeeded].sort());
    await expectAgreement(model, bench, answer);
  }

  toString() {
    return `RollbackAll(failing ${[...this.#failing]}; includes failed: ${this.#includes})`;
  }
}

/** Whether the operation was legal: the answer must say the same as the model. */
function expectLegality(model: RolloutModel, operation: ModelOperation, answer: Answer): boolean {
  const isLegal = model.allows(operation);
  expect([operation, model.state, answer.status]).toEqual([
    operation,
    model.state,
    isLegal ? 200 : 409,
  ]);
  return isLegal;
}

async function expectAgreement(
  model: RolloutModel,
  bench: RolloutBench,
  answer: Answer,
): Promise<void> {
  const expected = {
    state: model.state,
    image: model.image,
    succeeded: model.succeeded.size,
    failed: model.failed.size,
    in_flight: 0,
    current_wave: model.currentWave,
    total_waves: model.waves.length,
  };
  expect(answer.body).toMatchObject(expected);
  expect((await bench.call("Status")).body).toMatchObject(expected);
  const failedIds = (answer.body["failed_sentinels"] as { id: string }[]).map(({ id }) => id);
  expect(failedIds.sort()).toEqual([...model.failed].sort());
  expect(Object.fromEntries(bench.fleet.running())).toEqual(Object.fromEntries(model.running));
}

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
  const policies = fc.record({ tolerates: fc.boolean(), rollsBack: fc.boolean() });
  return fc.commands<RolloutModel, RolloutBench, false>(
    [
      fc
        .tuple(someFailing, percentages, policies)
        .map(([list, waves, policy]) => new RolloutStep(list, waves, policy)),
      someFailing.map((list) => new PausedRolloutStep(list)),
      fc.tuple(someFailing, fc.boolean()).map(([list, back]) => new HeldRolloutStep(list, back)),
      fc.tuple(someFailing, fc.boolean()).map(([list, retries]) => new ResumeStep(list, retries)),
      fc.constant(new CancelStep()),
      fc
        .tuple(someFailing, fc.boolean())
        .map(([list, includes]) => new RollbackStep(list, includes)),
    ],
    { maxCommands: 5, size: "max" },
  );
}
