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

  it("has the first twelve digits of the image's digest", () => {
    const head = buildHead({ image: `registry.example.com/app@sha256:${"b".repeat(64)}` });

    const { fields } = composeMessage("paused", head);

    expect(fields).toContainEqual({
      name: "Image",
      value: "registry.example.com/app@sha256:bbbbbbbbbbbb",
    });
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

  describe("of a rollback that has reverted nothing", () => {
    const failedSample = [{ id: "s1", reason: "oom_killed" }];

    it("names the failed sentinels that keep the new image, and how to put them back", () => {
      const head = buildHead({ state: "cancelled", failed: 1, failedSample });

      const { title, lines } = composeMessage("rollback completed", head);

      expect(title).toBe("Rollback ended: nothing was reverted");
      expect(lines).toEqual([
        "Nothing was reverted.",
        "Failed, and still ordered to the new image: s1 (oom_killed).",
        "RollbackAll with include_failed puts those back, too.",
      ]);
    });

    it("says so when there was nothing to revert", () => {
      const { lines } = composeMessage("rollback completed", buildHead({ state: "cancelled" }));

      expect(lines).toEqual(["Nothing had to be reverted: no sentinel has the new image."]);
    });
  });

  it("keeps its title for a rollback that has reverted some", () => {
    const head = buildHead({
      state: "cancelled",
      reverted: 2,
      revertedByLastRollback: 2,
      failed: 1,
    });

    expect(composeMessage("rollback completed", head)).toMatchObject({
      title: "Rollback completed",
      lines: expect.arrayContaining(["2 sentinels run their previous image again."]),
    });
  });
});
