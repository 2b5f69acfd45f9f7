/** What the page of a rollout says while a wave may not start yet. */
import { describe, expect, it } from "vitest";
import {
  cancelQuestion,
  isSkippable,
  resumeQuestion,
  seenWait,
  skipLabel,
  skipQuestion,
} from "#console/web/rollout/questions.ts";
import { titleOf } from "#console/web/rollout/title.ts";
import { SkipRequest } from "#rollout/calls-contract.ts";
import type { RolloutStatus } from "#rollout/contract.ts";
import { liveRollout } from "../../../support/rollout/live-rollout.ts";

const waiting: RolloutStatus = {
  rollout_id: "inv_1",
  state: "in_progress",
  image: "registry.example.com/team/app:v2",
  current_wave: 0,
  total_waves: 0,
  total: 0,
  succeeded: 0,
  failed: 0,
  in_flight: 0,
  failed_sentinels: [],
  started_at: "2026-12-20T12:00:00.000Z",
  updated_at: "2026-12-20T12:00:00.000Z",
  waiting_for: "window",
  reason: "waits for its start",
};

const live = (status: Partial<RolloutStatus>) =>
  liveRollout({ ...waiting, ...status }, { legal: [] });

const afterFirst = { current_wave: 1, total_waves: 2 };

describe("the title", () => {
  it.each<[Partial<RolloutStatus>, string]>([
    [{}, "Waiting to start the first wave"],
    [afterFirst, "Waiting for a window after wave 1 of 2"],
    [{ ...afterFirst, waiting_for: "soak" }, "Soaking after wave 1 of 2"],
    [{ waiting_for: "approval" }, "Waiting for an approval of the first wave"],
    [{ ...afterFirst, waiting_for: "approval" }, "Waiting for an approval of wave 2 of 2"],
    [{ ...afterFirst, waiting_for: null }, "In progress: wave 1 of 2"],
    [{ waiting_for: null }, "In progress: no wave started yet"],
    [{ state: "paused", waiting_for: null }, "Paused before the first wave"],
    [{ ...afterFirst, state: "paused", waiting_for: null }, "Paused after wave 1"],
  ])("of %j is %s", (status, title) => {
    expect(titleOf(live(status))).toBe(title);
  });
});

describe("the confirmation", () => {
  it("of Skip says that it holds for one wave", () => {
    const { title, lines, verb, field } = skipQuestion(waiting);

    expect(title).toBe("Start the wave all the same?");
    expect(lines[0]).toBe("The rollout waits for its start.");
    expect(lines[1]).toContain("This holds for this wave only");
    expect({ verb, field }).toEqual({
      verb: "Start the wave",
      field: { label: "Reason", kind: "text" },
    });
  });

  it("of Skip in a soak speaks of the soak", () => {
    const soaking = { ...waiting, waiting_for: "soak" } as const;

    expect(skipLabel(soaking)).toBe("Skip the wait…");
    expect(skipQuestion(soaking).title).toBe("Skip the soak?");
  });

  it("of Resume before the first wave does not take it for the last one", () => {
    const { lines, verb } = resumeQuestion(live({ state: "paused", waiting_for: null }));

    expect(lines).toEqual(["The fleet is listed, and the first wave starts as soon as it may."]);
    expect(verb).toBe("Resume the rollout");
  });

  it("of Cancel before the first wave counts no waves", () => {
    expect(cancelQuestion(live({})).lines[0]).toBe("No wave has started: nothing is deployed.");
  });
});

it.each([
  ["window", true],
  ["gate", true],
  ["approval", false],
  [null, false],
] as const)("a wait for %s is skippable: %s", (waiting_for, wanted) => {
  expect(isSkippable({ ...waiting, waiting_for })).toBe(wanted);
});

it.each([
  [0, { waiting_for: "window", wave: 0 }],
  [1, { waiting_for: "window", wave: 1 }],
])("Skip after wave %i sends what the handler takes", (current_wave, seen) => {
  const sent = seenWait({ ...waiting, current_wave });

  expect(sent).toEqual(seen);
  expect(SkipRequest.safeParse({ reason: "incident 4711", ...sent }).success).toBe(true);
});
