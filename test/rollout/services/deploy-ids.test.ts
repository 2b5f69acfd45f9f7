/** The ids of deploys, by which a fleet knows an order that is repeated. */
import type { Context } from "@restatedev/restate-sdk";
import { expect, it } from "vitest";
import type { DeployRequest, StartDeploys } from "#fleet/deploys/contract.ts";
import type { LaunchRequest } from "#rollout/internal.ts";
import { deploy, deployIdOf, start } from "#rollout/services/batch/events.ts";
import { imageV2 } from "../../support/rollout/rollout-builders.ts";

const launch: LaunchRequest = {
  ...{ rolloutId: "r-1", kind: "rollout", batch: 2, runner: "inv_1", parallel: 3 },
};
const target = { index: 7, id: "a", image: imageV2 };

it("a deploy has one id, begun in a group or by an invocation of its own", async () => {
  const ids: unknown[] = [];
  const startDeploys: StartDeploys = async ([order]) => {
    ids.push(order?.deployId);
    return { starts: [], isQuick: false, tookMs: 0 };
  };
  const mapped = <Value>(value: Value) => ({ map: () => value });
  const ctx = {
    run: (_: string, step: () => unknown) => mapped(step()),
    client: () => ({
      Deploy: ({ begun }: DeployRequest) => mapped(ids.push(begun?.deployId)),
    }),
  } as unknown as Context;
  const parts = { run: { ...launch, run: "inv_1" }, spans: { traceOf: () => ({}) } };

  await start(ctx, [target], { ...parts, atOnce: 1, startDeploys });
  await deploy(ctx, target, parts);

  expect(ids).toEqual([deployIdOf(launch, target), deployIdOf(launch, target)]);
});

it("a deploy has another id after a failure, in a rollback, in another rollout, and for each sentinel", () => {
  const ids = [
    deployIdOf(launch, target),
    deployIdOf(launch, { ...target, tries: 1 }),
    deployIdOf({ ...launch, kind: "rollback" }, target),
    deployIdOf({ ...launch, rolloutId: "r-2" }, target),
    deployIdOf({ ...launch, batch: 1 }, target),
    deployIdOf(launch, { ...target, index: 1 }),
  ];

  expect(new Set(ids).size).toBe(ids.length);
});
