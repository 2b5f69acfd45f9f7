import { describe, expect, it } from "vitest";
import { type MemberView, planMember, type Step } from "#fleet/drivers/kubernetes/members/plan.ts";
import { findRecord } from "#fleet/drivers/kubernetes/members/records.ts";
import { buildSetLook, type SetState } from "../../../../support/kubernetes/set-reading.ts";

const v1 = { tag: "v1" };
const v2 = { tag: "v2" };
const crashing = {
  tag: "v2",
  isReady: false,
  state: { state: { waiting: { reason: "CrashLoopBackOff" } }, restartCount: 3 },
};
const failed = { failed: "crash_loop", failedAtMs: 30_000 };
const ended = { ended: true };
const kubectl = { manager: "kubectl-set", isApplied: false };

/** The step of member 0, half a minute after its order for v2, which it gives up after a minute. */
function plan(of: SetState, over: Partial<MemberView> = {}): string {
  const reading = buildSetLook(of);
  const record = findRecord(reading.records, "0");
  if (record === undefined) throw new Error("member 0 has no record");
  const times = { nowMs: 30_000, readyTimeoutMs: 60_000, judgedWithinMs: 55_000, stableMs: 10_000 };
  const view = { reading, member: "0", record, owners: [], brake: undefined, ...times, ...over };
  return wordsOf(planMember(view));
}

function wordsOf(step: Step): string {
  switch (step.do) {
    case "wait":
      return `wait ${step.reason ?? ""}`.trim();
    case "replace":
      return `${step.isServing ? "evict" : "remove"} ${step.pod.metadata.name}`;
    case "fail":
      return `fail${step.setsTemplate ? " and set template" : ""}: ${step.reason}`;
    case "end":
      return step.stuck === undefined ? "end" : `end, stuck: ${step.stuck}`;
    default:
      return step.do;
  }
}

const mine = { 0: {} };

describe("an order", () => {
  it.each<[string, SetState, string]>([
    [
      "its template is another one",
      { template: "v1", pods: { 0: v1 }, records: mine },
      "set-template",
    ],
    [
      "the controller has not seen it",
      { template: "v2", pods: { 0: v1 }, records: mine, isUnseen: true },
      "wait",
    ],
    ["its pod is an old one", { template: "v2", pods: { 0: v1 }, records: mine }, "evict gw-0"],
    [
      "its old pod is not ready",
      { template: "v2", pods: { 0: { ...v1, isReady: false } }, records: mine },
      "evict gw-0",
    ],
    [
      "its old pod is ending",
      { template: "v2", pods: { 0: { ...v1, isEnding: true } }, records: mine },
      "wait",
    ],
    ["it has no pod", { template: "v2", pods: { 0: undefined }, records: mine }, "wait"],
    ["its new pod is ready", { template: "v2", pods: { 0: v2 }, records: mine }, "end"],
    [
      "its new pod is ready, whatever the template is by now",
      { template: "v1", pods: { 0: v2 }, records: mine },
      "end",
    ],
    [
      "its new pod is not ready",
      { template: "v2", pods: { 0: { ...v2, isReady: false } }, records: mine },
      "wait",
    ],
    [
      "its new pod crashes",
      { template: "v2", pods: { 0: crashing }, records: mine },
      "fail and set template: crash_loop: exit code 0",
    ],
    ["it has ended", { template: "v1", pods: { 0: v1 }, records: { 0: ended } }, "nothing"],
  ])("when %s", (_, of, step) => {
    expect(plan(of)).toBe(step);
  });

  it("is not done before its pod has been ready for long enough", () => {
    const of = { template: "v2", pods: { 0: v2 }, records: mine };

    expect([15_000, 20_000].map((nowMs) => plan(of, { nowMs }))).toEqual(["wait", "end"]);
  });

  it.each<[string, SetState, Partial<MemberView>, string]>([
    [
      "a budget kept its pod",
      { template: "v2", pods: { 0: v1 }, records: mine },
      { brake: "conflict: budget" },
      "conflict: budget",
    ],
    [
      "its pod is gone",
      { template: "v2", pods: { 0: undefined }, records: mine },
      {},
      "progress_deadline: it has no pod of the image",
    ],
    [
      "its new pod is not ready",
      { template: "v2", pods: { 0: { ...v2, isReady: false } }, records: mine },
      {},
      "progress_deadline: its pods were not ready in time",
    ],
  ])("fails at its deadline when %s", (_, of, over, reason) => {
    expect(plan(of, { nowMs: 55_000, ...over })).toBe(`fail and set template: ${reason}`);
  });

  it("fails when somebody else has set another image before its pod was replaced", () => {
    const of = { template: "v9", pods: { 0: v1 }, records: mine };

    expect(plan(of, { owners: [kubectl] })).toBe(
      "fail: conflict: the image was changed by kubectl-set",
    );
  });
});

describe("an order that shares the template", () => {
  const held =
    "wait conflict: 1 is being replaced by another image, and the template is one for all";

  it.each<[string, SetState, string]>([
    [
      "another member waits for its pod of it",
      { template: "v3", pods: { 0: v1, 1: v1 }, records: { 0: {}, 1: { image: "v3" } } },
      held,
    ],
    [
      "another member's pod of it is made",
      {
        template: "v3",
        pods: { 0: v1, 1: { tag: "v3", isReady: false } },
        records: { 0: {}, 1: { image: "v3" } },
      },
      "set-template",
    ],
    [
      "another member's deploy has ended",
      { template: "v3", pods: { 0: v1, 1: v1 }, records: { 0: {}, 1: { image: "v3", ...ended } } },
      "set-template",
    ],
    [
      "another member's time is over",
      {
        template: "v3",
        pods: { 0: v1, 1: v1 },
        records: { 0: {}, 1: { image: "v3", atMs: -60_000 } },
      },
      "set-template",
    ],
    [
      "another member is put back to it",
      {
        template: "v0",
        pods: { 0: v1, 1: crashing },
        records: { 0: {}, 1: { previous: "v0", ...failed } },
      },
      held,
    ],
    [
      "another member has no pod, and gets none while this one is not ready",
      {
        template: "v3",
        pods: { 0: { ...v1, isReady: false }, 1: undefined },
        records: { 0: {}, 1: { image: "v3" } },
      },
      "set-template",
    ],
    [
      "another member has no pod, of a set that makes pods at once",
      {
        template: "v3",
        isParallel: true,
        pods: { 0: { ...v1, isReady: false }, 1: undefined },
        records: { 0: {}, 1: { image: "v3" } },
      },
      held,
    ],
  ])("when %s", (_, of, step) => {
    expect(plan(of)).toBe(step);
  });

  it("waits for a lower member that is not ready: no pod would be made for it", () => {
    const of = {
      template: "v2",
      pods: { 0: { ...v1, isReady: false }, 1: v1 },
      records: { 1: {} },
    };
    const reading = buildSetLook(of);
    const record = findRecord(reading.records, "1");
    const times = { nowMs: 0, readyTimeoutMs: 60_000, judgedWithinMs: 55_000, stableMs: 0 };
    const more = { owners: [], brake: undefined, ...times };

    const step = record && planMember({ reading, member: "1", record, ...more });

    expect(step && wordsOf(step)).toBe(
      "wait conflict: no pod would be made for it, since 0 is not ready",
    );
  });

  it("of a DaemonSet waits for no other node", () => {
    const pods = { "-": { ...v1, isReady: false }, 0: v1 };

    expect(plan({ template: "v2", isDaemonSet: true, pods, records: mine })).toBe("evict gw-x0");
  });
});

describe("a failure", () => {
  const back = { 0: failed };

  it.each<[string, SetState, string]>([
    [
      "its template is not back",
      { template: "v2", pods: { 0: crashing }, records: back },
      "set-template",
    ],
    ["its pod crashes", { template: "v1", pods: { 0: crashing }, records: back }, "remove gw-0"],
    [
      "its pod is ready after all",
      { template: "v1", pods: { 0: v2 }, records: back },
      "evict gw-0",
    ],
    [
      "its earlier image starts",
      { template: "v1", pods: { 0: { ...v1, isReady: false } }, records: back },
      "wait",
    ],
    ["its earlier image runs", { template: "v1", pods: { 0: v1 }, records: back }, "end"],
    [
      "its image was the earlier one too",
      { template: "v2", pods: { 0: crashing }, records: { 0: { ...failed, previous: "v2" } } },
      "end",
    ],
    [
      "another member, which still serves, waits for a pod of the failed image",
      { template: "v2", pods: { 0: crashing, 1: v1 }, records: { 0: failed, 1: {} } },
      "set-template",
    ],
    [
      "another member has no pod, and gets one of the failed image",
      {
        template: "v2",
        isParallel: true,
        pods: { 0: crashing, 1: undefined },
        records: { 0: failed, 1: {} },
      },
      "wait conflict: 1 is being replaced by another image, and the template is one for all",
    ],
    [
      "another member is put back to another image",
      {
        template: "v0",
        pods: { 0: crashing, 1: crashing },
        records: { 0: failed, 1: { ...failed, previous: "v0" } },
      },
      "wait conflict: 1 is being replaced by another image, and the template is one for all",
    ],
  ])("when %s", (_, of, step) => {
    expect(plan(of)).toBe(step);
  });

  it.each<[string, SetState, Partial<MemberView>, string]>([
    [
      "somebody else has set another image",
      { template: "v9", pods: { 0: crashing }, records: back },
      { owners: [kubectl] },
      "end, stuck: the image was changed by kubectl-set",
    ],
    [
      "it takes too long",
      { template: "v1", pods: { 0: crashing }, records: back },
      { nowMs: 630_000 },
      "end, stuck: not in time",
    ],
  ])("is given up when %s", (_, of, over, step) => {
    expect(plan(of, over)).toBe(step);
  });
});
