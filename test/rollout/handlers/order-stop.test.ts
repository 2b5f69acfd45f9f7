/** The stop of a run's orders, which needs the database. */
import type { ObjectContext } from "@restatedev/restate-sdk";
import { expect, it } from "vitest";
import { stoppingOrders } from "#rollout/handlers/stop.ts";
import type { RolloutHead } from "#rollout/state.ts";
import { buildHead } from "../../support/rollout/rollout-builders.ts";

function createBench(head: RolloutHead) {
  const state = new Map<string, unknown>([["rolloutState", head]]);
  const ctx = {
    get: async (key: string) => state.get(key) ?? null,
    set: (key: string, value: unknown) => state.set(key, value),
    run: (_name: string, step: () => Promise<unknown>) => step(),
  } as unknown as ObjectContext;
  const stopped: string[] = [];
  const orders = {
    stopRun: async (run: string) => void stopped.push(run),
    countOrdered: async () => 0,
  };
  const handler = stoppingOrders(orders, async () => null);
  return { ctx, stopped, handler };
}

it("the handler stops a run in the database once, however often its end is reported", async () => {
  const { ctx, stopped, handler } = createBench(buildHead({ state: "completed" }));

  await handler(ctx, null);
  await handler(ctx, null);

  expect(stopped).toEqual(["inv_1"]);
});

it("the handler does not stop a run that is in progress", async () => {
  const { ctx, stopped, handler } = createBench(buildHead({ state: "in_progress" }));

  await handler(ctx, null);

  expect(stopped).toEqual([]);
});
