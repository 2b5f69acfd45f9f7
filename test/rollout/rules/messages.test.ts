import { describe, expect, it } from "vitest";
import { Notice } from "#alerts/contract.ts";
import { composeMessage, rolloutEvents } from "#rollout/rules/messages.ts";
import type { RolloutHead } from "#rollout/state.ts";
import { buildHead } from "../../support/rollout/rollout-builders.ts";

describe("composeMessage", () => {
  it.each(rolloutEvents)("composes a whole message for %s", (event) => {
    const approved = [{ wave: 2, by: "mara", at: "2026-01-01T00:00:00.000Z" }];

    const message = composeMessage(event, buildHead({ approved }), {
      by: "mara",
      reason: "incident 4711",
    });

    expect(Notice.parse(message).lines.join("")).not.toMatch(/undefined|NaN/);
  });

  it.each([
    [
      "rollout started",
      { policy: { reason: "CVE-1" } },
      "info: Rollout started | Waves at 50, 100 % of the fleet, started by tester. | Reason: CVE-1.",
    ],
    ["wave started", {}, "info: Wave started | Wave 1 of 2: 2 sentinels."],
    [
      "wave completed",
      { succeeded: 3, total: 4 },
      "success: Wave completed | Wave 1 of 2: 3 of 4 sentinels done.",
    ],
    [
      "waiting",
      { wait: { waitingFor: "approval" } },
      "info: Rollout waits | Approve starts it; Cancel and Pause are possible, too.",
    ],
    [
      "waiting",
      { wait: { waitingFor: "soak", reason: "soaks", until: "2026-01-01T12:00:00.000Z" } },
      "info: Rollout waits | It soaks. | It continues at 2026-01-01 12:00:00 UTC. | Skip, with a reason, starts what comes next all the same.",
    ],
    [
      "paused",
      { reason: "too many failed" },
      "danger: Rollout paused | Paused by mara. | too many failed. | Resume continues, RollbackAll restores the previous images, Cancel ends here.",
    ],
    [
      "paused",
      { rollbackDue: true },
      "danger: Rollout paused | Paused by mara. | The previous images are restored now.",
    ],
    ["resumed", {}, "info: Rollout resumed | Failed sentinels are not tried again."],
    [
      "resumed to retry",
      {},
      "info: Rollout resumed | Failed sentinels of the wave are tried again.",
    ],
    ["skipped", {}, "warning: Wait skipped | mara ended the wait: incident 4711."],
    [
      "approved",
      { approved: [{ wave: 2, by: "mara", at: "2026-01-01T00:00:00.000Z" }] },
      "info: Wave approved | mara approved wave 2: incident 4711.",
    ],
    ["window removed", {}, "warning: Window removed | mara removed incident 4711."],
    [
      "rollback started",
      { failed: 2 },
      "warning: Rollback started | No sentinel is known to have the new image.",
    ],
    [
      "rollback started",
      { succeeded: 1, failed: 2, includeFailed: true },
      "warning: Rollback started | 1 sentinel get their previous image back. | So do those that failed: 2.",
    ],
    [
      "completed",
      { succeeded: 4, leftOut: 3 },
      "success: Rollout completed | 4 sentinels run the new image. | Left out by pins and the request: 3.",
    ],
    [
      "completed",
      { total: 0, reason: "all run it already" },
      "success: Rollout completed | all run it already.",
    ],
    [
      "cancelled",
      { succeeded: 3 },
      "warning: Rollout cancelled | 3 sentinels keep the new image; RollbackAll restores the previous ones.",
    ],
  ] as const)("says of %s with %j: %s", (event, over, words) => {
    const head = buildHead(over as Partial<RolloutHead>);

    const { tone, title, lines } = composeMessage(event, head, {
      by: "mara",
      reason: "incident 4711",
    });

    expect([`${tone}: ${title}`, ...lines].join(" | ")).toBe(words);
  });

  it("has the image, the state and the rollout as fields, and the fleet in its title", () => {
    const { title, fields } = composeMessage("resumed", buildHead({ fleet: "eu" }));

    expect(title).toBe("Rollout resumed (eu)");
    expect(fields.map(({ name }) => name)).toEqual(["Image", "State", "Rollout"]);
    expect(fields.slice(1).map(({ value }) => value)).toEqual(["in progress", "r-1"]);
  });

  it("names evidence of CI that the settings let pass", () => {
    const ci = [
      { kind: "commit", result: "passed", passes: true, detail: "all green" },
      { kind: "commit", result: "missing", passes: true, detail: "no status" },
    ] as const;

    const { lines } = composeMessage("rollout started", buildHead({ ci: [...ci] }));

    expect(lines).toEqual(
      expect.arrayContaining([
        "CI, commit: passed (all green).",
        "CI, commit: missing, which the settings let pass (no status).",
      ]),
    );
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

    expect(composeMessage("completed", head)).toMatchObject({
      title: "Rollout completed with failures",
      tone: "warning",
      lines: expect.arrayContaining(["3 of 4 sentinels run the new image."]),
    });
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

    it("goes on saying which sentinels serve nothing", () => {
      const counts = { failed: 1, failedSample, serving: { s1: "" } };

      const { lines } = composeMessage(
        "rollback completed",
        buildHead({ state: "cancelled", ...counts }),
      );

      expect(lines).toContain("1 failed and serves nothing: s1.");
    });

    it("says so when there was nothing to revert", () => {
      const { lines } = composeMessage("rollback completed", buildHead({ state: "cancelled" }));

      expect(lines).toEqual(["Nothing had to be reverted: no sentinel has the new image."]);
    });
  });

  it("names what a rollback has not reverted, with why it ended", () => {
    const head = buildHead({
      state: "cancelled",
      succeeded: 1,
      reverted: 2,
      revertedByLastRollback: 2,
      reason: "a deploy timed out",
      notReverted: [{ id: "s7", reason: "timeout" }],
    });

    expect(composeMessage("rollback completed", head).lines).toEqual([
      "2 sentinels run their previous image again.",
      "a deploy timed out.",
      "Not reverted: s7 (timeout).",
    ]);
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
