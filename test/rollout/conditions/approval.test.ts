import { describe, expect, it } from "vitest";
import { needsApproval } from "#rollout/conditions/approval.ts";
import { mayStart } from "#rollout/conditions/decide.ts";
import type { Next } from "#rollout/conditions/next.ts";
import { sleepMsOf, withoutWait, withVerdict } from "#rollout/conditions/wait.ts";
import type { Policy } from "#rollout/policy-contract.ts";
import { withDefaults } from "#rollout/rules/start.ts";
import type { RolloutHead } from "#rollout/state.ts";
import { buildHead, buildWave } from "../../support/rollout/rollout-builders.ts";

const nowMs = Date.parse("2026-12-24T12:00:00.000Z");

describe("the waves that need an approval", () => {
  const of = (approvals: Policy["approvals"], count: number, wavePercentages = [5, 50, 100]) =>
    Array.from({ length: count }, (_, i) => i + 1).filter((wave) =>
      needsApproval(approvals, { wave, of: count, wavePercentages }),
    );

  it.each<[Policy["approvals"], number[], number[]]>([
    [undefined, [], []],
    ["last_wave", [3], [1]],
    ["after_first", [2, 3], [1]],
    ["every_wave", [1, 2, 3], [1]],
  ])("with %s are %j of three, and %j where one is asked for", (approvals, ofThree, ofOne) => {
    expect(of(approvals, 3)).toEqual(ofThree);
    expect(of(approvals, 1, [100])).toEqual(ofOne);
  });

  it("are others than the first where few sentinels are left for several percentages", () => {
    expect(of("last_wave", 1)).toEqual([]);
    expect(of("after_first", 1)).toEqual([]);
    expect(of("every_wave", 1)).toEqual([1]);
  });

  it("are the first and the last where one percentage has become several waves", () => {
    expect(of("last_wave", 3, [100])).toEqual([1, 3]);
  });
});

describe("a request", () => {
  it.each<[Policy["approvals"], Policy["approvals"], Policy["approvals"]]>([
    [undefined, undefined, undefined],
    [undefined, "last_wave", "last_wave"],
    ["after_first", undefined, "after_first"],
    ["after_first", "last_wave", "after_first"],
    ["after_first", "every_wave", "every_wave"],
  ])("with settings of %s that asks for %s gets %s", (setting, asked, approvals) => {
    const settings = { soak_seconds: 5, ...(setting && { approvals: setting }) };
    const request = { soak_seconds: 9, ...(asked && { approvals: asked }) };

    const policy = withDefaults(settings, request);

    expect(policy).toEqual({ soak_seconds: 9, ...(approvals && { approvals }) });
  });
});

const head = (over: Partial<RolloutHead> = {}) =>
  buildHead({
    waves: [buildWave({ succeeded: 2 }), buildWave({ percentage: 100 })],
    policy: { approvals: "after_first" },
    ...over,
  });

const judge = (judged: RolloutHead, next: Next = { kind: "wave", index: 1 }) =>
  mayStart({
    head: judged,
    next,
    wave: undefined,
    nowMs,
    windows: { now: { is_open: false, reason: "the freeze f is in force" } },
    fleet: null,
  });

const approved = [{ wave: 2, by: "ada", at: "2026-12-24T11:00:00.000Z" }];

describe("a wave that needs an approval", () => {
  it("waits for it before it waits for a window", () => {
    expect(judge(head())).toEqual({
      action: "wait",
      waitingFor: "approval",
      reason: "waits until an operator other than tester approves wave 2",
    });
    expect(judge(head({ approved }))).toMatchObject({ waitingFor: "window" });
  });

  it("is not approved with another one", () => {
    const others = [
      { ...approved[0], wave: 1 },
      { ...approved[0], wave: 3 },
    ] as typeof approved;

    expect(judge(head({ approved: others }))).toMatchObject({ waitingFor: "approval" });
  });

  it.each<[string, Next]>([
    ["a deploy of a wave that has begun", { kind: "deploy" }],
    ["the end", { kind: "end" }],
  ])("keeps back no other thing: %s", (_, next) => {
    expect(judge(head(), next)).toEqual({ action: "start" });
  });

  it("is not looked at for an hour, and no Skip ends its wait", () => {
    const verdict = judge(head());
    if (verdict.action !== "wait") throw new Error("it does not wait");
    const waiting = withVerdict(head(), verdict);

    expect(sleepMsOf(waiting, verdict, nowMs)).toBe(3_600_000);
    expect(withoutWait(waiting)).toBeUndefined();
  });

  it("is looked at every ten minutes while what soaked before it is watched", () => {
    const verdict = judge(head());
    if (verdict.action !== "wait") throw new Error("it does not wait");
    const wait = { since: "2026-12-24T11:00:00.000Z", round: 1, soakUntil: "2026-12-24T11:10:00Z" };

    expect(sleepMsOf(head({ wait }), verdict, nowMs)).toBe(600_000);
  });
});
