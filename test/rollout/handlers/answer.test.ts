/** The answers of the handlers, from the durable state. */
import { describe, expect, it } from "vitest";
import { toStatus } from "#rollout/handlers/answer.ts";
import { describeSilence } from "#rollout/handlers/reason-of-wait.ts";
import { withoutStop } from "#rollout/handlers/stop.ts";
import type { RolloutHead } from "#rollout/state.ts";
import { buildHead, buildWave, imageV1 } from "../../support/rollout/rollout-builders.ts";

const down: Partial<RolloutHead> = {
  ...{ total: 12, failed: 1, previousImage: imageV1 },
  ...{ failedSample: [{ id: "gw-5", reason: "crash_loop" }], serving: { "gw-5": "" } },
};

describe("the status", () => {
  it("of a rollout that was rolled back still says who serves nothing, and nothing else", () => {
    const head = buildHead({ ...down, state: "cancelled", revertedBefore: 0 });

    expect(toStatus(head).standing).toEqual([
      {
        text: "1 failed and serves nothing: gw-5.",
        brief: "1 failed and serves nothing",
        down: 1,
        failed_on_image: 0,
      },
    ]);
  });

  it("of a rollout that was rolled back where all serve has no standing", () => {
    const head = buildHead({ total: 12, state: "cancelled", revertedBefore: 0, reverted: 2 });

    expect(toStatus(head)).not.toHaveProperty("standing");
  });

  it("of a paused rollout says who has paused it, until something else is done", () => {
    const paused = { by: "ada", at: "2026-11-28T02:00:00.000Z" };
    const head = buildHead({ state: "paused", cause: "operator", paused });

    expect(toStatus(head).paused).toEqual(paused);
    expect(toStatus(withoutStop(head))).not.toHaveProperty("paused");
  });
});

describe("the reason of a rollout that hears nothing of its fleet", () => {
  const startedAt = "2026-11-28T02:00:00.000Z";
  const deploying = buildHead({ waves: [buildWave({ startedAt })], currentWave: 1 });
  const problem = "unreachable: ECONNREFUSED";

  it("names the fleet's error, and until when a deploy in flight is waited for", () => {
    expect(describeSilence(deploying, problem, 600_000)).toBe(
      "the fleet cannot be listed (unreachable: ECONNREFUSED): a deploy in flight that it does not answer fails after 10 min, the first at 2026-11-28 02:10:00 UTC",
    );
  });

  it("of a rollback names no time, because its deploys are others", () => {
    const head = { ...deploying, state: "rolling_back" } as const;

    expect(describeSilence(head, problem, 600_000)).toMatch(/ fails after 10 min$/);
  });

  it("before the fleet is listed says why it is not, and that the rollout starts by itself", () => {
    const head = buildHead({ captured: false });

    expect(describeSilence(head, null, 600_000)).toBe("waits for the fleet's list");
    expect(describeSilence(head, problem, 600_000)).toBe(
      "waits for the fleet's list: unreachable: ECONNREFUSED; it starts by itself once the fleet can be listed, and pauses if that takes long",
    );
  });

  it("is absent while the fleet answers", () => {
    expect(describeSilence(deploying, null, 600_000)).toBeUndefined();
  });
});
