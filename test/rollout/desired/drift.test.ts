import { describe, expect, it } from "vitest";
import {
  type Drift,
  findDesired,
  findDrift,
  isBehind,
  type KnownMember,
  type PastResult,
  type PastRollout,
  readDesired,
  relevantRollouts,
} from "#rollout/desired/drift.ts";

const v1 = "registry.example.com/team/gateway:v1";
const v2 = "registry.example.com/team/gateway:v2";
const v3 = "registry.example.com/team/gateway:v3";

function member(over: Partial<KnownMember> = {}): KnownMember {
  const images = { image: v2, running_image: v2 };
  return { id: "gw-1", region: "eu", ...images, health: "healthy", joinedAtMs: 0, ...over };
}

function rollout(over: Partial<PastRollout> = {}): PastRollout {
  const flags = { leftAllOut: false, isUnattended: false };
  return {
    id: "r2",
    image: v2,
    startedAtMs: 1_000,
    outcome: "completed",
    policy: {},
    ...flags,
    ...over,
  };
}

/** The image desired of gw-1 after these rollouts, the newest first, each with its result there. */
function desiredAfter(
  past: [Partial<PastRollout>, Partial<PastResult>?][],
  of: Partial<KnownMember> = {},
) {
  const rollouts = past.map(([one], i) => rollout({ id: `r${i}`, ...one }));
  const results = new Map(
    past.flatMap(([, result], i) =>
      result === undefined
        ? []
        : [[`r${i}`, new Map([["gw-1", { outcome: null, previousImage: v1, ...result }]])]],
    ),
  );
  return findDesired([member(of)], { rollouts, results }).get("gw-1");
}

describe("isBehind", () => {
  it.each([
    ["lacks the newest rollout", "r9", "completed", true],
    ["lacks the end of the newest rollout", "r2", null, true],
    ["has the newest rollout with its end", "r2", "completed", false],
  ] as const)("history that %s", (_, id, outcome, expected) => {
    expect(isBehind([rollout({ outcome })], { id, hasEnded: true })).toBe(expected);
  });

  it("history that has a rollout in progress is not behind, nor that of a fleet without any", () => {
    const history = [rollout({ outcome: null })];

    expect(isBehind(history, { id: "r2", hasEnded: false })).toBe(false);
    expect(isBehind([], undefined)).toBe(false);
  });
});

describe("readDesired", () => {
  const ids = ["gw-0", "gw-1", "gw-2", "gw-3"];
  const members = ids.map((id) => member({ id }));
  const covers = (id: string, over: Partial<PastRollout> = {}) =>
    rollout({ policy: { only: { ids: [id] } }, ...over });
  const ofAll = (outcome: string | null) =>
    new Map(ids.map((id) => [id, { outcome, previousImage: v1 }]));
  /** r0 is in progress and has gw-0; each of r1 to r8 is about one sentinel; r9 is about all. */
  const rollouts = [
    covers("gw-0", { id: "r0", outcome: null }),
    ...Array.from({ length: 8 }, (_, i) => covers(`gw-${1 + (i % 2)}`, { id: `r${i + 1}` })),
    rollout({ id: "r9", image: v3 }),
  ];
  const results = new Map([
    ["r0", new Map([["gw-0", { outcome: null, previousImage: v1 }]])],
    ["r1", new Map([["gw-1", { outcome: "succeeded", previousImage: v1 }]])],
    ["r2", new Map([["gw-2", { outcome: "failed", previousImage: v1 }]])],
    ["r9", ofAll("succeeded")],
  ]);

  it("finds what all results would say, and reads no older ones of a sentinel that has an answer", async () => {
    const asked: [string[], string[]][] = [];
    const read = async (of: readonly PastRollout[], who: readonly KnownMember[]) => {
      asked.push([of.map(({ id }) => id), who.map(({ id }) => id)]);
      return new Map(
        of.map(({ id }) => [
          id,
          new Map([...(results.get(id) ?? [])].filter(([one]) => who.some((m) => m.id === one))),
        ]),
      );
    };

    const desired = await readDesired(members, { rollouts, read });

    expect(desired).toEqual(findDesired(members, { rollouts, results }));
    expect(asked.at(-1)).toEqual([["r5", "r6", "r7", "r8", "r9"], ["gw-3"]]);
  });
});

describe("findDesired", () => {
  it.each([
    ["succeeded", { image: v2, why: "drifted" }],
    ["failed", { image: v2, why: "failed" }],
    ["left_out", { image: v2, why: "late" }],
    [null, { image: v2, why: "late" }],
  ])("a completed rollout wants its image on a sentinel that %s in it", (outcome, desired) => {
    expect(desiredAfter([[{}, { outcome }]])).toEqual(desired);
  });

  it("a sentinel that came after the last completed rollout is wanted to run its image", () => {
    expect(desiredAfter([[{}]], { joinedAtMs: 2_000 })).toEqual({ image: v2, why: "joined" });
  });

  it("a sentinel that ran the image already was in no wave, and has drifted if it runs another", () => {
    expect(desiredAfter([[{}]])).toEqual({ image: v2, why: "drifted" });
  });

  it.each([{ only: { regions: ["us"] } }, { exclude: [{ ids: ["gw-1"] }] }])(
    "a rollout that was not about the sentinel leaves it to the one before",
    (policy) => {
      const desired = desiredAfter([[{ image: v3, policy }], [{}, { outcome: "succeeded" }]]);

      expect(desired).toEqual({ image: v2, why: "drifted" });
    },
  );

  it("a rollout that left all out says nothing", () => {
    const empty = { image: v3, leftAllOut: true };

    expect(desiredAfter([[empty, { outcome: "left_out" }], [{}]])?.image).toBe(v2);
  });

  it.each([
    ["reverted", "drifted"],
    ["not_reverted", "failed"],
    ["failed", "failed"],
    ["succeeded", "failed"],
  ])("after a rollback the image before is desired, also of one that was %s", (outcome, why) => {
    expect(desiredAfter([[{ outcome: "rolled_back" }, { outcome }]])).toEqual({ image: v1, why });
  });

  it("a cancelled rollout keeps its image where it succeeded, and says nothing where it never came", () => {
    const cancelled = { image: v3, outcome: "cancelled" } as const;

    expect(desiredAfter([[cancelled, { outcome: "succeeded" }], [{}]])?.image).toBe(v3);
    expect(desiredAfter([[cancelled, { outcome: null }], [{}]])?.image).toBe(v2);
  });

  it("nothing is desired of a sentinel that a rollout in progress has in a wave", () => {
    const running = { image: v3, outcome: null };

    expect(desiredAfter([[running, { outcome: null }], [{}]])).toBeUndefined();
    expect(desiredAfter([[running], [{}]])?.image).toBe(v2);
  });

  it("a rollout of the reconciler that ended by itself changes no desired image, and its failure is the reason", () => {
    const own = { isUnattended: true, outcome: "rolled_back" } as const;
    const desired = desiredAfter([[own, { outcome: "failed", previousImage: v3 }], [{}]]);

    expect(desired).toEqual({ image: v2, why: "failed" });
  });

  it("without any rollout nothing is desired", () => {
    expect(desiredAfter([])).toBeUndefined();
  });
});

it("rollouts before the newest completed one of the whole fleet are not looked at", () => {
  const partial = rollout({ id: "b", policy: { only: { regions: ["eu"] } } });
  const all = [
    rollout({ id: "a", outcome: "cancelled" }),
    partial,
    rollout({ id: "c" }),
    rollout({ id: "d" }),
  ];

  expect(relevantRollouts(all).map(({ id }) => id)).toEqual(["a", "b", "c"]);
});

describe("findDrift", () => {
  const desired = new Map([["gw-1", { image: v2, why: "drifted" as const }]]);
  const drifting = member({ running_image: v1 });
  const compare = (running: string, listedAtMs: number, before: readonly Drift[] = []) =>
    findDrift(desired, [{ ...drifting, running_image: running }], {
      known: new Map(before.map((one) => [one.id, one])),
      listedAtMs,
    });

  it("one reading alone confirms no drift, and a later list with the same image does", () => {
    const first = compare(v1, 10);
    const again = compare(v1, 10, first);
    const second = compare(v1, 20, again);

    expect(first).toMatchObject([{ isConfirmed: false, sinceMs: 10, desired: v2, running: v1 }]);
    expect(again).toMatchObject([{ isConfirmed: false, sinceMs: 10 }]);
    expect(second).toMatchObject([{ isConfirmed: true, sinceMs: 10 }]);
  });

  it("another wrong image begins anew", () => {
    expect(compare(v3, 20, compare(v1, 10))).toMatchObject([{ isConfirmed: false, sinceMs: 20 }]);
  });

  it("a sentinel that runs its image, or perhaps does, has not drifted", () => {
    const digest = `registry.example.com/team/gateway@sha256:${"a".repeat(64)}`;

    expect([...compare(v2, 10), ...compare(digest, 10)]).toEqual([]);
  });

  it("a sentinel without a desired image has not drifted", () => {
    expect(findDrift(new Map(), [drifting], { known: new Map(), listedAtMs: 1 })).toEqual([]);
  });
});
