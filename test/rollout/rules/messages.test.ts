import { describe, expect, it } from "vitest";
import { ChatMessage } from "#notify/contract.ts";
import { composeMessage, rolloutEvents } from "#rollout/rules/messages.ts";
import { buildHead } from "../../support/rollout/rollout-builders.ts";

describe("composeMessage", () => {
  it.each(rolloutEvents)("composes a whole message for %s", (event) => {
    const approved = [{ wave: 2, by: "mara", at: "2026-01-01T00:00:00.000Z" }];

    const message = composeMessage(event, buildHead({ approved }), {
      by: "mara",
      reason: "incident 4711",
    });

    expect(ChatMessage.parse(message).lines.join("")).not.toMatch(/undefined|NaN/);
  });

  it("numbers messages by transition, so that a repetition is recognised", () => {
    expect(composeMessage("paused", buildHead({ sequence: 7 })).id).toBe("r-1#7");
  });

  it("says so when a rollout completed with failures", () => {
    const head = buildHead({ state: "completed", succeeded: 3, failed: 1 });

    expect(composeMessage("completed", head).title).toBe("Rollout completed with failures");
  });

  it("names five failed sentinels and counts the rest", () => {
    const failedSample = Array.from({ length: 9 }, (_, i) => ({
      id: `s${i}`,
      reason: "oom_killed",
    }));

    const { lines } = composeMessage("paused", buildHead({ failed: 9, failedSample }));

    expect(lines.join(" ")).toContain("s4 (oom_killed), and 4 more");
  });

  it("tells a reason that several sentinels have in common once", () => {
    const failedSample = [
      { id: "s1", reason: "oom_killed" },
      { id: "s2", reason: "conflict" },
      { id: "s3", reason: "oom_killed" },
    ];

    const { lines } = composeMessage("paused", buildHead({ failed: 3, failedSample }));

    expect(lines).toContain("Failed: s1, s3 (oom_killed), s2 (conflict).");
  });

  it.each([
    [{ succeeded: 4, failed: 0 }, "4 of 40 sentinels done."],
    [{ succeeded: 3, failed: 1 }, "4 of 40 sentinels done, 1 failed."],
  ])("counts %j of a wave as done", (counts, words) => {
    const { lines } = composeMessage("wave completed", buildHead({ ...counts, total: 40 }));

    expect(lines.join(" ")).toContain(words);
  });
});
