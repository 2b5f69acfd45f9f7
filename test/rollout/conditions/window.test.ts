import { describe, expect, it } from "vitest";
import { mayStart } from "#rollout/conditions/decide.ts";
import type { Next } from "#rollout/conditions/next.ts";
import { sleepMsOf, withoutWait, withVerdict } from "#rollout/conditions/wait.ts";
import type { RolloutHead } from "#rollout/state.ts";
import { RolloutWindow } from "#rollout/windows/contract.ts";
import { buildHead, buildWave } from "../../support/rollout/rollout-builders.ts";

const nowMs = Date.parse("2026-12-24T12:00:00.000Z");
const freeze = RolloutWindow.parse({
  id: "year-end",
  kind: "freeze",
  ends: "2027-01-04T00:00:00Z",
  reason: "nobody is here",
});
const endMs = Date.parse("2027-01-04T00:00:00Z");

const between = (over: Partial<RolloutHead> = {}) =>
  buildHead({ waves: [buildWave({ succeeded: 2 }), buildWave()], ...over });
const before = { kind: "wave", index: 1 } as const;

const judge = (
  head: RolloutHead,
  { next = before, windows = [freeze] }: { next?: Next; windows?: RolloutWindow[] | null } = {},
) => mayStart({ head, next, wave: undefined, nowMs, windows });

describe("a freeze", () => {
  it("keeps the next wave waiting until its end, and says why", () => {
    expect(judge(between())).toEqual({
      action: "wait",
      waitingFor: "window",
      reason: "waits, since the freeze year-end is in force: nobody is here",
      untilMs: endMs,
    });
  });

  it.each<[string, Next]>([
    ["a deploy of a wave that has begun", { kind: "deploy" }],
    ["the end", { kind: "end" }],
  ])("does not keep %s", (_, next) => {
    expect(judge(between(), { next })).toEqual({ action: "start" });
  });

  it("is looked at again after some hours, although its end is known", () => {
    const verdict = judge(between());

    expect(verdict).toMatchObject({ action: "wait" });
    if (verdict.action === "wait") {
      expect(sleepMsOf(withVerdict(between(), verdict), verdict, nowMs)).toBe(6 * 3_600_000);
      expect(sleepMsOf(withVerdict(between(), verdict), verdict, endMs - 5)).toBe(5);
    }
  });

  it("is passed over by a Skip, for this wave alone", () => {
    const wait = { since: "2026-12-24T12:00:00.000Z", round: 1, waitingFor: "window" as const };

    const skipped = withoutWait(between({ wait }));

    expect(skipped?.wait).not.toHaveProperty("waitingFor");
    expect(judge(skipped as RolloutHead)).toEqual({ action: "start" });
  });
});

describe("windows that could not be read", () => {
  it("keep the wave waiting, and are read again soon", () => {
    const verdict = judge(between(), { windows: null });

    expect(verdict).toMatchObject({ action: "wait", waitingFor: "window", pollMs: 30_000 });
  });
});

describe("a scheduled start", () => {
  const scheduled = between({
    currentWave: 0,
    captured: false,
    waves: [],
    policy: { not_before: "2026-12-24T22:00:00+01:00" },
  });

  it("is waited for, to the very millisecond", () => {
    expect(judge(scheduled, { windows: [] })).toMatchObject({
      action: "wait",
      waitingFor: "window",
      untilMs: Date.parse("2026-12-24T21:00:00Z"),
    });
  });

  it("in the past is none", () => {
    const late = { ...scheduled, policy: { not_before: "2026-12-24T12:00:00Z" } };

    expect(judge(late, { windows: [] })).toEqual({ action: "start" });
  });

  it("in a freeze ends with the freeze", () => {
    expect(judge(scheduled)).toMatchObject({ reason: "waits for its start", untilMs: endMs });
  });

  it("is about the first wave alone, which somebody may have started earlier", () => {
    const started = between({ currentWave: 1, policy: { not_before: "2026-12-24T21:00:00Z" } });

    expect(judge(started, { windows: [] })).toEqual({ action: "start" });
  });
});
