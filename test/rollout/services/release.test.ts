import { describe, expect, it } from "vitest";
import type { WedgedCall } from "#rollout/internal.ts";
import { planRelease } from "#rollout/services/release.ts";

const aCall = (over: Partial<WedgedCall>): WedgedCall => ({
  id: "inv_1",
  service: "vedette.v1.RolloutRunner",
  key: null,
  handler: "run",
  parent: null,
  revision: "old",
  ...over,
});

const aDeploy = aCall({
  id: "inv_deploy",
  service: "vedette.v1.SentinelService",
  key: "s01",
  handler: "Deploy",
  parent: "inv_batch",
});

describe("planRelease", () => {
  it("ends what blocks the rollout's key before the rollout is stopped", () => {
    const record = { service: "vedette.v1.SentinelRolloutService", key: "singleton" };

    const plan = planRelease([aCall({ id: "inv_record", handler: "record", ...record })]);

    expect(plan).toMatchObject({ first: ["inv_record"], others: [] });
  });

  it("ends a deploy's batch before the deploy, which then is no failure", () => {
    const plan = planRelease([aDeploy]);

    expect(plan).toMatchObject({ first: [], others: ["inv_batch", "inv_deploy"] });
    expect(plan.involved).toEqual(["inv_deploy", "inv_batch"]);
  });

  it("does not stop a rollout for a caller that only waits, nor for its repair", () => {
    const caller = aCall({ service: "vedette.v1.SentinelRolloutService", handler: "Rollout" });
    const watch = aCall({ service: "vedette.v1.RolloutWatch" });

    expect(planRelease([caller, watch]).involved).toEqual([]);
  });

  it("sends one-way calls again with the same input", () => {
    const message = aCall({
      service: "vedette.v1.RolloutHistory",
      handler: "save",
      key: "r-1",
      input: { id: "m" },
    });

    expect(planRelease([message, aDeploy])).toMatchObject({ again: [message] });
  });

  it("sends nothing whose input is no longer known", () => {
    const message = aCall({ service: "vedette.v1.RolloutHistory", handler: "save" });

    expect(planRelease([message])).toMatchObject({ again: [], others: [message.id] });
  });
});
