import { describe, expect, it } from "vitest";
import {
  backOffMs,
  type HeldDrift,
  planConvergence,
  recordTries,
  requestOf,
} from "#rollout/desired/converge.ts";
import { GateRow } from "#rollout/gates/contract.ts";
import { gatesOf } from "#rollout/gates/registry.ts";

const image = "registry.example.com/team/gateway:v2";
const minuteMs = 60_000;

function drift(id: string, over: Partial<HeldDrift> = {}): HeldDrift {
  const found = { desired: image, running: "", why: "drifted", sinceMs: 1 } as const;
  return { id, ...found, isConfirmed: true, isHeld: false, ...over };
}

const idle = { tries: {}, state: "completed", nowMs: 0 } as const;

describe("planConvergence", () => {
  it("takes the drifted that are confirmed and not held, the longest drifted first", () => {
    const drifts = [
      drift("a", { sinceMs: 9 }),
      drift("b"),
      drift("held", { isHeld: true }),
      drift("new", { isConfirmed: false }),
    ];

    expect(planConvergence({ ...idle, drifts })).toEqual({ image, ids: ["b", "a"] });
  });

  it.each(["in_progress", "paused", "rolling_back"] as const)(
    "starts nothing while a rollout is %s",
    (state) => {
      expect(planConvergence({ ...idle, state, drifts: [drift("a")] })).toBeUndefined();
    },
  );

  it("takes one image at a time, that of most sentinels, and 100 of them at most", () => {
    const many = Array.from({ length: 150 }, (_, i) => drift(`s${i}`));
    const drifts = [drift("other", { desired: "registry.example.com/b:v1", sinceMs: 0 }), ...many];

    const plan = planConvergence({ ...idle, drifts });

    expect(plan?.image).toBe(image);
    expect(plan?.ids).toHaveLength(100);
  });

  it("leaves a sentinel alone for twice as long after each try, and others not", () => {
    const drifts = [drift("a")];
    let tries = recordTries({}, { drifts, plan: { image, ids: ["a"] }, nowMs: 0 });
    const at = (minutes: number, all = drifts) =>
      planConvergence({ ...idle, tries, drifts: all, nowMs: minutes * minuteMs });

    expect(at(4.9)).toBeUndefined();
    expect(at(4.9, [...drifts, drift("b")])?.ids).toEqual(["b"]);
    expect(at(5)?.ids).toEqual(["a"]);
    tries = recordTries(tries, { drifts, plan: { image, ids: ["a"] }, nowMs: 5 * minuteMs });
    expect(at(14.9)).toBeUndefined();
    expect(at(15)?.ids).toEqual(["a"]);
  });

  it("another image is tried at once", () => {
    const tries = recordTries({}, { drifts: [], plan: { image, ids: ["a"] }, nowMs: 0 });
    const desired = "registry.example.com/team/gateway:v3";

    expect(planConvergence({ ...idle, tries, drifts: [drift("a", { desired })] })?.ids).toEqual([
      "a",
    ]);
  });
});

it("the pause between two tries has an end at a day", () => {
  expect(backOffMs(30)).toBe(24 * 60 * minuteMs);
});

it("tries of a sentinel that has run its image for long are forgotten, of one that may come back they are not", () => {
  const tries = recordTries({}, { drifts: [], plan: { image, ids: ["a"] }, nowMs: 0 });

  expect(recordTries(tries, { drifts: [], nowMs: 9 * minuteMs })).toEqual(tries);
  expect(recordTries(tries, { drifts: [], nowMs: 11 * minuteMs })).toEqual({});
});

const plan = { image, ids: ["a"] };
const rows = [
  { id: "checked", kind: "checks", checks: ["liveness"], default: true },
  { id: "sign-off", kind: "pause", default: true },
  { id: "compared", kind: "compare", default: true },
  { id: "other", kind: "pause" },
].map((row) => GateRow.parse(row));

it("the request has the rules of the rollout that brought the image, and none of its choices", () => {
  const former = {
    policy: {
      max_unavailable: "5%",
      soak_seconds: [1, 2],
      exclude: [{ ids: ["x"] }],
      approvals: "last_wave",
    } as const,
    wavePercentages: [50, 100],
    gates: gatesOf(
      {
        gate: { checks: ["liveness"], clean_runs: 3, timeout_seconds: 600 },
        gates: [
          { kind: "pause", timeout_seconds: 600, on_timeout: "pause" },
          { kind: "compare", minutes: 30, when_inconclusive: "pause" },
        ],
      },
      [],
    ),
    starters: ["row:name-ada"],
  };

  const request = requestOf(plan, { former: structuredClone(former) as never, rows });

  expect(request).toEqual({
    image,
    only: { ids: ["a"] },
    reason: expect.any(String),
    wave_percentages: [50, 100],
    soak_seconds: [1, 2],
    max_unavailable: "5%",
    gates: [former.gates[0]],
    starters: ["row:name-ada"],
  });
});

it("the request has no gate if that rollout had none, whatever is default by now", () => {
  const former = { policy: {}, wavePercentages: [100], gates: [], starters: [] };

  expect(requestOf(plan, { former, rows }).gates).toEqual([]);
});

it("the request without such a rollout has those default gates of the definitions that ask nobody and compare nothing", () => {
  const { gates } = requestOf(plan, { former: undefined, rows });

  expect(gates).toMatchObject([{ kind: "checks", name: "checked" }]);
});
