/** What the heading and the tab say of a rollout that stands still or has ended. */
import { describe, expect, it } from "vitest";
import type { LiveRollout } from "#console/contract.ts";
import { situationOf } from "#console/web/rollout/questions.ts";
import { tabTitleOf, titleOf } from "#console/web/rollout/title.ts";
import type { RolloutStatus } from "#rollout/contract.ts";
import type { MessageView } from "#rollout/history/contract.ts";
import { liveRollout } from "../../../support/rollout/live-rollout.ts";

const failedRun = {
  location: "eu",
  at: "2026-12-20T12:01:00.000Z",
  reason: "503",
  status: 503,
  duration_ms: 9,
};
const gateOf = (runs: (typeof failedRun | null)[]): RolloutStatus["gate"] => ({
  wave: 1,
  since: "2026-12-20T12:00:00.000Z",
  until: "2026-12-20T12:10:00.000Z",
  on_timeout: "pause",
  checks: runs.map((failed_run, n) => ({
    check: `shop-${n}`,
    clean_runs: 1,
    wanted_runs: 3,
    failed_run,
  })),
  gates: [],
});

const failedGate: RolloutStatus["gate"] = {
  ...{ wave: 1, since: "", until: "", on_timeout: "pause", checks: [] },
  gates: [
    {
      ...{ name: "errors", kind: "prometheus", until: "", on_timeout: "pause", verdict: "fail" },
      ...{ reason: "a reading failed", readings: [] },
    },
  ],
};

/** Failed sentinels that serve nothing. */
const nothingOf = (count: number) => {
  const brief = `${count} failed and serve nothing`;
  return [{ text: `${brief}: a, b.`, brief, down: count, failed_on_image: 0 }];
};

const pausedBy = (actor: string): MessageView => ({
  sequence: 2,
  event: "paused",
  actor,
  at: "2026-12-20T12:00:00.000Z",
  title: "Rollout paused",
  tone: "danger",
  lines: [],
  delivery: { outcome: "queued", attempts: 0, detail: null, at: null },
});

describe("the heading of a paused rollout", () => {
  it.each<[Partial<RolloutStatus>, string]>([
    [{ cause: "sentinels", failed: 1 }, "Paused after wave 1: 1 sentinel failed"],
    [
      { cause: "sentinels", failed: 3, standing: nothingOf(2) },
      "Paused after wave 1: 3 sentinels failed, 2 of them serve nothing",
    ],
    [
      { cause: "sentinels", failed: 1, standing: nothingOf(1) },
      "Paused after wave 1: 1 sentinel failed and serves nothing",
    ],
    [{ cause: "budget", failed: 4 }, "Paused after wave 1: too many failed, 4 of 40"],
    [
      { cause: "gate", gate: gateOf([null, failedRun]) },
      "Paused after wave 1: the check shop-1 failed",
    ],
    [
      { cause: "gate", gate: gateOf([failedRun, failedRun]) },
      "Paused after wave 1: 2 checks failed",
    ],
    [{ cause: "gate", gate: failedGate }, "Paused after wave 1: the gate errors failed"],
    [{ cause: "gate", gate: gateOf([null]) }, "Paused after wave 1: the gate did not open"],
    [{ cause: "fleet" }, "Paused after wave 1: the fleet does not answer as it should"],
    [{ cause: "version" }, "Paused after wave 1: the program was replaced by another version"],
    [{ cause: "run", current_wave: 0 }, "Paused before the first wave: its run has ended early"],
    [{}, "Paused after wave 1"],
  ])("of %j is %s", (status, title) => {
    expect(titleOf(liveRollout(status))).toBe(title);
  });

  it("names the operator who paused it", () => {
    const rollout = liveRollout({ cause: "operator" }, { messages: [pausedBy("ada")] });

    expect(titleOf(rollout)).toBe("Paused after wave 1 by ada");
    expect(titleOf(liveRollout({ cause: "operator" }))).toBe("Paused after wave 1 by an operator");
  });
});

it.each<[Partial<RolloutStatus>, string]>([
  [{ cause: "sentinels", failed: 2 }, "Paused: 2 sentinels failed · app:v2"],
  [
    { cause: "sentinels", failed: 3, standing: nothingOf(2) },
    "Paused: 2 failed and serve nothing · app:v2",
  ],
  [{ state: "in_progress", succeeded: 9, failed: 1 }, "25 %, 1 failed · app:v2"],
  [{ state: "in_progress", succeeded: 10 }, "25 % · app:v2"],
  [{ state: "in_progress", waiting_for: "approval" }, "Waits for an approval · app:v2"],
  [{ state: "completed", succeeded: 40 }, "Completed · app:v2"],
  [{ state: "idle", image: null }, "Rollout"],
])("the tab of %j says %s", (status, title) => {
  expect(tabTitleOf(liveRollout(status))).toBe(title);
});

it("tells a rollout that was rolled back from one that was cancelled", () => {
  const ended = { state: "cancelled", outcome: "rolled_back" } as const;

  expect(titleOf(liveRollout(ended, { waves: [{ reverted: 20 }] }))).toBe("Rolled back");
  expect(titleOf(liveRollout(ended, { waves: [{ not_reverted: 1 }] }))).toBe(
    "Rolled back, except for 1 sentinel",
  );
  expect(titleOf(liveRollout({ state: "cancelled", outcome: "cancelled" }))).toBe("Cancelled");
});

const wordsOf = (rollout: LiveRollout) =>
  situationOf(rollout)
    ?.map(({ text }) => text)
    .join(" ");

describe("the situation", () => {
  it("is what runs where, and that nothing more starts", () => {
    const rollout = liveRollout({ failed: 2, standing: nothingOf(2) });

    expect(wordsOf(rollout)).toBe(
      "2 failed and serve nothing: a, b. Nothing more starts until you decide.",
    );
  });

  it("after a rollback is who serves nothing", () => {
    const ended = { state: "cancelled", outcome: "rolled_back" } as const;

    expect(wordsOf(liveRollout({ ...ended, failed: 2, standing: nothingOf(2) }))).toBe(
      "2 failed and serve nothing: a, b.",
    );
    expect(wordsOf(liveRollout(ended))).toBeUndefined();
  });

  it("before the first wave is that nothing is deployed", () => {
    expect(wordsOf(liveRollout({ total: 0 }))).toMatch(/^No wave has started/);
  });

  it("is not told of a rollout that runs, or ended as everybody expects", () => {
    expect(situationOf(liveRollout({ state: "in_progress" }))).toBeUndefined();
    expect(situationOf(liveRollout({ state: "completed" }))).toBeUndefined();
  });
});
