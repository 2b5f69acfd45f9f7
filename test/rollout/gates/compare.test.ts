import { describe, expect, it } from "vitest";
import { dueGates, evaluateGate } from "#rollout/conditions/gate.ts";
import { nextOf } from "#rollout/conditions/next.ts";
import { beginWait, withResumedWait } from "#rollout/conditions/wait.ts";
import { compareGate } from "#rollout/gates/compare.ts";
import { chooseMembers, createCompareImages } from "#rollout/gates/compare-images.ts";
import type { Comparison } from "#rollout/gates/comparison-contract.ts";
import type { GateOf, NamedGate } from "#rollout/gates/contract.ts";
import { closeGates, withGateReadings } from "#rollout/gates/registry.ts";
import { buildHead, buildWave } from "../../support/rollout/rollout-builders.ts";

const minute = 60_000;
const closedMs = Date.parse("2026-11-28T12:00:00Z");
/** 3 minutes of warm-up, 30 of the gate, 2 until the last one is recorded. */
const endMs = closedMs + 35 * minute;

function buildGate(when_inconclusive: GateOf<"compare">["when_inconclusive"] = "pause") {
  return { kind: "compare", name: "compare", minutes: 30, when_inconclusive } as const;
}

function buildComparison(verdict: Comparison["verdict"], may_go_early = false): Comparison {
  return { verdict, may_go_early, threshold: 100, total: 0, metrics: [], points: [], looks: [] };
}

/** The gates after a reading with this verdict. */
function readOnce(gate: NamedGate, comparison: Comparison) {
  const reading = {
    at: "2026-11-28T12:05:00.000Z",
    value: "why",
    verdict: "inconclusive",
  } as const;
  const readings = [{ name: gate.name, found: { reading, comparison } }];
  return withGateReadings(closeGates([gate], 1, closedMs), [gate], { readings, atMs: closedMs });
}

function decideAt(nowMs: number, gate: NamedGate, comparison?: Comparison) {
  const gateStatus =
    comparison === undefined ? closeGates([gate], 1, closedMs) : readOnce(gate, comparison);
  const ended = buildWave({ succeeded: 2, endedAt: new Date(closedMs).toISOString() });
  const head = buildHead({
    waves: [ended, buildWave({ percentage: 100, firstBatch: 1 })],
    ...{ gates: [gate], gateStatus, endedWaves: 1 },
    wait: { ended: 0, since: new Date(closedMs).toISOString(), round: 1 },
  });
  return evaluateGate({ head, next: nextOf(head), wave: 0, nowMs, windows: "stale", fleet: null });
}

describe("the gate that compares images", () => {
  it("stops with the cause comparison, and as a fault of the image, if the new one is worse", () => {
    expect(decideAt(closedMs + minute, buildGate(), buildComparison("worse"))).toMatchObject({
      ...{ action: "stop", cause: "comparison", isOfImage: true },
      reason: expect.stringContaining("compare: why"),
    });
  });

  it("stops at the end of its time if nothing is proven, and not as a fault of the image", () => {
    const nothing = buildComparison("inconclusive");

    expect(decideAt(endMs - 1, buildGate(), nothing)).toMatchObject({ action: "wait" });
    expect(decideAt(endMs, buildGate(), nothing)).toMatchObject({
      ...{ action: "stop", cause: "comparison", isOfImage: false },
    });
  });

  it.each([
    ["at once if nothing can be worse", buildGate(), buildComparison("not_worse", true), minute],
    ["at the end of its time for a fix", buildGate(), buildComparison("better"), 35 * minute],
    [
      "at the end with continue",
      buildGate("continue"),
      buildComparison("inconclusive"),
      35 * minute,
    ],
  ])("opens %s", (_, gate, comparison, afterMs) => {
    expect(compareGate.evaluate(gate, stateOf(gate, comparison), closedMs + afterMs)).toMatchObject(
      {
        verdict: "pass",
      },
    );
    expect(
      compareGate.evaluate(gate, stateOf(gate, comparison), closedMs + afterMs - 2 * minute)
        .verdict,
    ).toBe(comparison.may_go_early ? "pass" : "inconclusive");
  });

  it("waits four more hours with wait, and pauses then", () => {
    const [gate, nothing] = [buildGate("wait"), buildComparison("inconclusive")];

    expect(decideAt(endMs + 239 * minute, gate, nothing)).toMatchObject({ action: "wait" });
    expect(decideAt(endMs + 240 * minute, gate, nothing)).toMatchObject({ action: "stop" });
  });

  it("is refused for a fleet whose counters nobody records", () => {
    const targets = { known: [], whyOff: () => [], webhooks: [], rows: [], hasPrometheus: true };

    expect(compareGate.refuse(buildGate(), { ...targets, hasCounters: false })).toMatchObject({
      code: "gate_off",
      message: expect.stringMatching(/^the gate compare .* fleet\.counters\.source/),
    });
    expect(compareGate.refuse(buildGate(), { ...targets, hasCounters: true })).toBeUndefined();
  });

  it("is read with the ledger of the waves before, which a resume after its stop begins anew", () => {
    const ledger = { total: 150, wave: 0, look: 3, guard: null, sums: null };
    const gate = buildGate();
    const head = buildHead({
      ...{ gates: [gate], gateStatus: closeGates([gate], 1, closedMs) },
      ledgers: { compare: ledger },
    });

    expect(dueGates(head)[0]?.compared?.ledger).toEqual(ledger);
    const stopped = { ...head, state: "paused", cause: "comparison" } as const;
    expect(withResumedWait(stopped, endMs).ledgers).toBeUndefined();
    const interrupted = { ...head, state: "paused", cause: "operator" } as const;
    expect(withResumedWait(interrupted, endMs).ledgers).toEqual({ compare: ledger });
  });

  it("has the hour before the first wave as its base, however long the rollout has waited for that", () => {
    const startedAt = new Date(closedMs - 10 * minute).toISOString();
    const gate = buildGate();
    const head = buildHead({
      ...{ gates: [gate], gateStatus: closeGates([gate], 1, closedMs) },
      startedAt: new Date(closedMs - 5 * 86_400_000).toISOString(),
      waves: [buildWave({ startedAt }), buildWave()],
    });

    expect(dueGates(head)[0]?.compared?.startedMs).toBe(Date.parse(startedAt));
  });

  it("does not close after the last wave, which leaves nobody to compare with", () => {
    const wave = buildWave({ endedAt: new Date(closedMs).toISOString(), succeeded: 2 });
    const head = buildHead({ waves: [wave], gates: [buildGate()], policy: { soak_seconds: 60 } });

    const waiting = beginWait(head, { ended: 0, next: { kind: "end" }, nowMs: closedMs });

    expect(waiting.gateStatus).toBeUndefined();
  });
});

function stateOf(gate: NamedGate, comparison: Comparison) {
  return readOnce(gate, comparison).gates[0] as NonNullable<
    ReturnType<typeof readOnce>["gates"][0]
  >;
}

describe("the sentinels that are compared", () => {
  const row = (id: string, wave: number, outcome: string | null, tier = "stable") => ({
    ...{ id, wave, outcome, region: "eu", labels: { tier } },
  });

  it("are those of the waves so far that have the image, and those of the later waves", () => {
    const rows = [
      row("a", 1, "succeeded"),
      row("b", 1, "failed"),
      row("c", 2, null),
      row("d", 3, "left_out"),
      row("e", 3, null),
    ];

    expect(chooseMembers(rows, 2, undefined)).toEqual({
      members: [
        { id: "a", region: "eu", isNew: true, isCanary: false },
        { id: "c", region: "eu", isNew: true, isCanary: false },
        { id: "e", region: "eu", isNew: false, isCanary: false },
      ],
      isChosen: false,
    });
  });

  it("are without canaries, which nobody has drawn, unless there are no other new ones", () => {
    const rows = [row("a", 1, "succeeded", "canary"), row("b", 2, null), row("c", 3, null)];
    const isCanary = { tier: "canary" };

    const [first, second] = [1, 2].map((wave) => chooseMembers(rows, wave, isCanary));

    expect(first).toMatchObject({
      isChosen: true,
      members: [{ id: "a" }, { id: "b" }, { id: "c" }],
    });
    expect(second).toMatchObject({ isChosen: false, members: [{ id: "b" }, { id: "c" }] });
  });
});

describe("a comparison of chosen sentinels", () => {
  /** Each of ten sentinels, of which the first is the canary, has 1,000 requests a minute. */
  async function compareCanary(errorsOfCanary: number) {
    const started = closedMs - 2 * minute;
    const rows = Array.from({ length: 10 }, (_, i) => ({
      ...{ id: `gw-${i}`, region: "eu", labels: { tier: i === 0 ? "canary" : "stable" } },
      ...{ wave: i === 0 ? 1 : 2, outcome: i === 0 ? "succeeded" : null },
    }));
    const length = 240 + 15;
    const series = (value: (minute: number) => number) =>
      Float64Array.from({ length }, (_, m) => value(m));
    const compare = createCompareImages({
      database: { query: async () => ({ rows }) } as never,
      nowMs: () => closedMs + 15 * minute,
      readCounts: async () => ({
        first: started - 240 * minute,
        sentinels: rows.map((_, i) => ({
          requests: series(() => 1_000),
          errors: series((m) => (i === 0 && m >= 240 ? errorsOfCanary : 1)),
          slow: series(() => 50),
          restarts: series(() => 0),
        })),
      }),
    });
    return compare(
      { rolloutId: "r-1", fleet: "singleton", wave: 1, waves: 2 },
      {
        ...{ startedMs: started, settledMs: closedMs, minutes: 30, looks: [] },
        canaryLabels: { tier: "canary" },
      },
    );
  }

  it("says so, and proves nothing", async () => {
    const { comparison, reason, ledger } = await compareCanary(1);

    expect(reason).toContain("chosen by canary_labels");
    expect(comparison).toMatchObject({ is_chosen: true, may_go_early: false });
    expect(ledger.total).toBe(0);
    expect(comparison.points).toHaveLength(15);
    expect(comparison.points[0]).toMatchObject({ new: [1_000, 1, 50], old: [9_000, 9, 450] });
  });

  it("finds gross failure all the same", async () => {
    const { comparison, reason } = await compareCanary(300);

    expect(comparison).toMatchObject({ verdict: "worse", guard: true });
    expect(reason).toContain("failed grossly");
  });
});
