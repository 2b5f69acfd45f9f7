/** What holds for every plan, whatever is chosen. */
import fc from "fast-check";
import { expect, it } from "vitest";
import type { FleetMember } from "#fleet/contract.ts";
import type { Pin } from "#rollout/choice/contract.ts";
import type { Policy } from "#rollout/policy-contract.ts";
import { type PlannedRollout, planRollout } from "#rollout/rules/plan.ts";
import { limitOf } from "#rollout/values-contract.ts";
import { imageV1, imageV2 } from "../../support/rollout/rollout-builders.ts";

const regions = ["ap", "eu", "us", "za"];
const tiers = ["canary", "early", "stable"];

const someMember = fc.record({
  region: fc.constantFrom(...regions),
  tier: fc.constantFrom(...tiers, undefined),
  image: fc.constantFrom(imageV1, imageV1, imageV1, imageV2),
});
const someFleet = fc.array(someMember, { maxLength: 120 }).map((members) =>
  members.map(
    ({ region, tier, image }, i): FleetMember => ({
      id: `s${i}`,
      region,
      image,
      running_image: image,
      health: "healthy",
      labels: tier === undefined ? {} : { tier },
    }),
  ),
);
const somePercentages = fc
  .uniqueArray(fc.integer({ min: 1, max: 99 }), { maxLength: 6 })
  .map((list) => [...list.sort((a, b) => a - b), 100]);
const someLimit = fc.oneof(
  fc.integer({ min: 0, max: 20 }),
  fc.integer({ min: 0, max: 100 }).map((percent) => `${percent}%`),
);
const somePolicy: fc.Arbitrary<Policy> = fc.record(
  {
    regions: fc.uniqueArray(fc.constantFrom(...regions, "nowhere"), { minLength: 1 }),
    canary_labels: fc.constantFrom(...tiers).map((tier) => ({ tier })),
    max_per_region: someLimit,
    exclude: fc.constantFrom([{ regions: ["za"] }], [{ labels: { tier: "early" } }]),
  },
  { requiredKeys: [] },
);
const somePins = fc.constantFrom<Pin[]>(
  [],
  [{ id: "p1", ids: ["s1", "s2", "s3"], reason: "debugged" }],
  [{ id: "p2", regions: ["eu"], labels: { tier: "stable" }, reason: "frozen" }],
);

const plans = (
  check: (plan: PlannedRollout, of: { fleet: FleetMember[]; policy: Policy }) => void,
) =>
  fc.assert(
    fc.property(
      someFleet,
      somePercentages,
      somePolicy,
      somePins,
      (fleet, percentages, policy, pins) => {
        const request = { image: imageV2, wavePercentages: percentages, policy, pins, nowMs: 0 };
        check(planRollout(fleet, request), { fleet, policy });
      },
    ),
    { numRuns: 500, seed: 20261123 },
  );

const waveOf = ({ waves }: PlannedRollout) =>
  new Map(waves.flatMap(({ members }, wave) => members.map(({ id }) => [id, wave])));

/** That no member of the second kind comes in an earlier wave than one of the first. */
function expectFirst(
  plan: PlannedRollout,
  { isFirst, among }: Record<"isFirst" | "among", (member: FleetMember) => boolean>,
): void {
  const members = plan.waves.flatMap((wave) => wave.members).filter(among);
  const wave = waveOf(plan);
  const last = Math.max(-1, ...members.filter(isFirst).map(({ id }) => wave.get(id) ?? -1));
  const others = members.filter((member) => !isFirst(member)).map(({ id }) => wave.get(id) ?? 0);
  expect(Math.min(Number.POSITIVE_INFINITY, ...others)).toBeGreaterThanOrEqual(last);
}

it("a plan has each sentinel once: in a wave, left out, or because it runs the image already", () => {
  plans((plan, { fleet }) => {
    const planned = plan.waves.flatMap(({ members }) => members.map(({ id }) => id));
    const leftOut = plan.leftOut.map(({ id }) => id);
    const running = fleet.filter(({ image }) => image === imageV2).map(({ id }) => id);

    expect([...planned, ...leftOut, ...running].sort()).toEqual(fleet.map(({ id }) => id).sort());
    expect(plan.waves.every(({ members }) => members.length > 0)).toBe(true);
    expect(plan.waves.at(-1)?.covered ?? 0).toBe(planned.length);
  });
});

it("a plan takes canaries first", () => {
  plans((plan, { policy }) => {
    const tier = policy.canary_labels?.["tier"];
    if (tier === undefined) return;
    expectFirst(plan, { isFirst: ({ labels }) => labels?.["tier"] === tier, among: () => true });
  });
});

it("a plan takes the regions in the order of the request, of canaries and of the others", () => {
  plans((plan, { policy }) => {
    const tier = policy.canary_labels?.["tier"];
    const isCanary = ({ labels }: FleetMember) => tier !== undefined && labels?.["tier"] === tier;
    for (const among of [isCanary, (member: FleetMember) => !isCanary(member)])
      for (const [i] of (policy.regions ?? []).entries()) {
        const first = new Set(policy.regions?.slice(0, i + 1));
        expectFirst(plan, { isFirst: ({ region }) => first.has(region), among });
      }
  });
});

it("a plan has no more sentinels of a region in a wave than the cap", () => {
  plans(({ waves }, { fleet, policy: { max_per_region: limit } }) => {
    if (limit === undefined) return;
    for (const region of regions) {
      const of = (members: readonly FleetMember[]) =>
        members.filter((member) => member.region === region).length;
      const cap = Math.max(1, limitOf(limit, of(fleet)));
      for (const { members } of waves) expect(of(members)).toBeLessThanOrEqual(cap);
    }
  });
});

it("a plan leaves out what a pin or the request names, and nothing else", () => {
  plans(({ waves, leftOut }, { policy: { exclude } }) => {
    const isExcluded = ({ region, labels }: FleetMember) =>
      (exclude?.[0]?.regions?.includes(region) ?? false) ||
      (exclude?.[0]?.labels?.["tier"] !== undefined && labels?.["tier"] === "early");
    expect(waves.flatMap(({ members }) => members).filter(isExcluded)).toEqual([]);
    expect(leftOut.filter(({ by }) => by === null && exclude === undefined)).toEqual([]);
  });
});

it("covers at least the percentage of each wave, as without a choice", () => {
  plans((plan, { fleet }) => {
    const total = plan.waves.at(-1)?.covered ?? 0;
    expect(total).toBeLessThanOrEqual(fleet.length);
    for (const [i, { percentage, covered }] of plan.waves.entries()) {
      const isLastPart = plan.waves[i + 1]?.percentage !== percentage;
      if (isLastPart)
        expect(covered).toBe(Math.ceil(Number(((total * percentage) / 100).toFixed(9))));
    }
  });
});
