/** What the steps of the model test share: legality, the answer of an operation, and agreement with the model. */
import type fc from "fast-check";
import { expect } from "vitest";
import type { OnDrift } from "#fleet/drift-contract.ts";
import { waitFor } from "../wait-for.ts";
import type { Answer, RolloutBench } from "./rollout-bench.ts";
import type { ModelOperation, RolloutModel } from "./rollout-model.ts";

/** The rollout as it really is. `unanswered`: calls that block, of a rollout that waits. `drift`: what follows drift. */
export type Real = { bench: RolloutBench; unanswered: Promise<Answer>[]; drift: { on: OnDrift } };

export abstract class Step implements fc.AsyncCommand<RolloutModel, Real> {
  check(): boolean {
    return true;
  }

  abstract run(model: RolloutModel, real: Real): Promise<void>;
  abstract toString(): string;
}

/** Each rollout gets an image of its own, so that no sentinel is left out because it runs it already. */
let imageNumber = 0;
export const nextImage = () => `registry.example.com/vedette/sentinel:m${++imageNumber}`;

/** Whether the operation was legal: the answer must say the same as the model. */
export function expectLegality(
  model: RolloutModel,
  operation: ModelOperation,
  answer: Answer,
): boolean {
  const isLegal = model.allows(operation);
  expect([operation, model.state, answer.status]).toEqual([
    operation,
    model.state,
    isLegal ? 200 : 409,
  ]);
  return isLegal;
}

type Call = { operation: Exclude<ModelOperation, "Confirm">; body?: object; move: () => void };

/**
 * Calls an operation that answers only when the rollout stands still, and compares what came of it. `move` makes
 * the same move on the model. While the rollout waits there is no answer.
 */
export async function callAndCompare(
  model: RolloutModel,
  { bench, unanswered }: Real,
  { operation, body = {}, move }: Call,
): Promise<Answer | undefined> {
  const isLegal = model.allows(operation);
  // Nobody starts one with approvals without a name.
  const answering =
    operation === "Rollout" ? bench.callAs("ada", operation, body) : bench.call(operation, body);
  if (!isLegal) {
    expectLegality(model, operation, await answering);
    return undefined;
  }
  move();
  if (model.waitingFor !== null) {
    unanswered.push(answering);
    await expectStanding(model, bench);
    return undefined;
  }
  const answer = await answering;
  expect([operation, answer.status]).toEqual([operation, 200]);
  await expectAgreement(model, bench, answer);
  return answer;
}

/** Waits until the rollout is where the model is. */
export async function expectStanding(model: RolloutModel, bench: RolloutBench): Promise<void> {
  const isThere = ({ body }: Answer) =>
    body.state === model.state &&
    body["waiting_for"] === model.waitingFor &&
    body["current_wave"] === model.currentWave &&
    body["in_flight"] === 0;
  let last: Answer | undefined;
  const there = waitFor(
    async () => {
      last = await bench.call("Status");
      return isThere(last) && last;
    },
    { withinMs: 15_000, what: "the rollout to stand where the model does" },
  );
  await expectAgreement(model, bench, (await there.catch(() => last)) as Answer);
}

export async function expectAgreement(
  model: RolloutModel,
  bench: RolloutBench,
  answer: Answer,
): Promise<void> {
  const expected = {
    state: model.state,
    waiting_for: model.waitingFor,
    image: model.image,
    succeeded: model.succeeded.size,
    failed: model.failed.size,
    in_flight: 0,
    current_wave: model.currentWave,
    total_waves: model.isCaptured ? model.waves.length : 0,
    ...(model.isCaptured && { left_out: model.leftOut }),
  };
  expect(answer.body).toMatchObject(expected);
  expect((await bench.call("Status")).body).toMatchObject(expected);
  const failedIds = (answer.body["failed_sentinels"] as { id: string }[]).map(({ id }) => id);
  expect(failedIds.sort()).toEqual([...model.failed].sort());
  expect(Object.fromEntries(bench.fleet.running())).toEqual(Object.fromEntries(model.running));
}
