/** Rollouts whose image has to have passed CI. */
import { afterAll, afterEach, beforeAll, describe, expect, it } from "vitest";
import type { CiEvidence } from "#ci/contract.ts";
import {
  RolloutHistory,
  RolloutPlan,
  RolloutStatus,
  rolloutServiceName,
} from "#rollout/contract.ts";
import type { ResolveImage } from "#rollout/fleets.ts";
import { modes } from "../../support/replay.ts";
import { type RolloutBench, startRolloutBench } from "../../support/rollout/rollout-bench.ts";
import { imageV2 } from "../../support/rollout/rollout-builders.ts";
import { startOver } from "../../support/rollout/standstill.ts";
import { waitFor } from "../../support/wait-for.ts";

const passed: CiEvidence = {
  kind: "commit",
  result: "passed",
  passes: true,
  detail: "commit 3f3f of acme/gateway: green: build",
  url: "https://github.com/acme/gateway/commit/3f3f",
};
const letPass: CiEvidence = {
  kind: "signature",
  result: "missing",
  passes: true,
  detail: "nothing is attached",
};
const failed: CiEvidence = {
  kind: "commit",
  result: "failed",
  passes: false,
  detail: "failed: test",
};

describe.each(modes)("a rollout that asks for CI, $mode", ({ alwaysReplay }) => {
  let bench: RolloutBench;
  let resolve: ResolveImage = async (image) => ({ image });

  beforeAll(async () => {
    bench = await startRolloutBench({
      size: 4,
      alwaysReplay,
      resolveImage: (...asked) => resolve(...asked),
    });
  });

  afterAll(() => bench.stop());

  afterEach(() => startOver(bench));

  const withEvidence = (...ci: CiEvidence[]) => {
    resolve = async (image) => ({ image, ci });
  };

  it("starts with the evidence, which Status, History and the chat message have", async () => {
    withEvidence(passed, letPass);

    const { body } = await bench.call("Rollout", { image: imageV2 });
    const status = RolloutStatus.parse((await bench.call("Status")).body);
    const inHistory = async () => {
      const { rollouts } = RolloutHistory.parse((await bench.call("History")).body);
      return rollouts.find(({ rollout_id: id }) => id === body["rollout_id"]);
    };
    const what = "history to have the end";
    await waitFor(async () => (await inHistory())?.state === "completed", {
      withinMs: 10_000,
      what,
    });

    expect(body).toMatchObject({ state: "completed", ci: [passed, letPass] });
    expect(status.ci).toEqual([passed, letPass]);
    expect((await inHistory())?.ci).toEqual([passed, letPass]);
    const started = bench.chat.messages.find(({ text }) => text.includes("Rollout started"));
    expect(JSON.stringify(started)).toContain(
      "CI, signature: missing, which the settings let pass (nothing is attached).",
    );
  });

  it.each([
    { result: "failed", status: 400 },
    { result: "missing", status: 400 },
    { result: "unverifiable", status: 400 },
    { result: "pending", status: 409 },
    { result: "unavailable", status: 424 },
  ] as const)(
    "is refused with $status when the evidence is $result",
    async ({ result, status }) => {
      withEvidence(passed, { ...failed, result });

      const answer = await bench.call("Rollout", { image: imageV2 });

      expect(answer.status).toBe(status);
      expect(answer.body["message"]).toContain("failed: test");
      const metadata = answer.body["metadata"] as Record<string, string>;
      expect(metadata["code"]).toBe(`ci_${result}`);
    },
  );

  it("starts nothing when it is refused", async () => {
    const before = (await bench.call("Status")).body["rollout_id"] ?? null;
    withEvidence(failed);

    await bench.call("Rollout", { image: imageV2 });

    expect((await bench.call("Status")).body["rollout_id"] ?? null).toBe(before);
  });

  it("is planned all the same, so that the plan shows why it would be refused", async () => {
    withEvidence(failed, passed);

    const { status, body } = await bench.call("Plan", { image: imageV2 });

    expect(status).toBe(200);
    expect(RolloutPlan.parse(body).ci).toEqual([failed, passed]);
  });

  it("is planned by nobody without a look into private networks, which who may operate has, and a rollout", async () => {
    const asked: boolean[] = [];
    resolve = async (image, isOpen) => {
      asked.push(isOpen);
      return { image };
    };

    await bench.call("Plan", { image: imageV2 });
    await bench.post(`${rolloutServiceName}/singleton/Plan`, { image: imageV2 }, "ada");
    await bench.call("Rollout", { image: imageV2 });

    expect(asked).toEqual([false, true, true]);
  });

  it("has no evidence where nothing was asked for", async () => {
    resolve = async (image) => ({ image });

    const { body } = await bench.call("Rollout", { image: imageV2 });

    expect(body).not.toHaveProperty("ci");
    expect(RolloutPlan.parse((await bench.call("Plan", { image: imageV2 })).body).ci).toEqual([]);
  });
});
