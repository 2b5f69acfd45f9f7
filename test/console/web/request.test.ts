import { describe, expect, it } from "vitest";
import { faultsOf } from "#console/web/parts/fields.ts";
import {
  countFilled,
  emptyFields,
  refusalOfLabels,
  type StartFields,
  startPaths,
  toRequest,
} from "#console/web/rollout/request.ts";
import { parseBody } from "#kernel/faults.ts";
import { RolloutRequest } from "#rollout/contract.ts";

const image = "registry.example.com/team/app:v2";

const plain: StartFields = { ...emptyFields, image, waves: "" };

describe("the request of the form", () => {
  it("is the image alone when nothing else was filled in", () => {
    expect(toRequest(plain)).toEqual({ image });
  });

  it.each<[Partial<StartFields>, object]>([
    [{ waves: "10 → 100 %" }, { wave_percentages: [10, 100] }],
    [{ soakSeconds: "600" }, { soak_seconds: 600 }],
    [{ soakSeconds: "10m" }, { soak_seconds: 600 }],
    [{ watchSeconds: "1h" }, { watch_for: 3_600 }],
    [{ soakSeconds: "1h, 10m, 0, 0, 0" }, { soak_seconds: [3_600, 600, 0, 0, 0] }],
    [{ soakSeconds: "60, 10, 0, 0, 0" }, { soak_seconds: [60, 10, 0, 0, 0] }],
    [{ maxFailed: "3" }, { max_failed: { in_all: 3 } }],
    [{ maxFailed: "2 %" }, { max_failed: { in_all: "2%" } }],
    [{ notBefore: "2026-12-01T22:00" }, { not_before: new Date(2026, 11, 1, 22).toISOString() }],
    [{ approvals: "after_first" }, { approvals: "after_first" }],
    [{ rollsBack: true }, { on_failure: "rollback" }],
    [{ reason: " incident 4711 " }, { reason: "incident 4711" }],
    [{ regions: "eu, us" }, { regions: ["eu", "us"] }],
    [{ canaries: "tier=canary, kernel = 5" }, { canary_labels: { tier: "canary", kernel: "5" } }],
    [{ maxPerRegion: "25 %" }, { max_per_region: "25%" }],
    [{ maxUnavailable: "3" }, { max_unavailable: 3 }],
    [{ onlyRegions: "eu", onlyIds: "gw-7" }, { only: { regions: ["eu"], ids: ["gw-7"] } }],
    [{ excludeIds: "gw-7,gw-8," }, { exclude: [{ ids: ["gw-7", "gw-8"] }] }],
    [
      { excludeRegions: "eu", excludeLabels: "image=a=b" },
      { exclude: [{ regions: ["eu"], labels: { image: "a=b" } }] },
    ],
  ])("of %j is %j", (fields, wanted) => {
    const request = toRequest({ ...plain, ...fields });

    expect(request).toEqual({ image, ...wanted });
    expect(RolloutRequest.safeParse(request).success).toBe(true);
  });

  it.each<Partial<StartFields>>([
    { waves: "ten, 100" },
    { soakSeconds: "an hour" },
    { maxFailed: "a few" },
    { maxPerRegion: "many" },
    { regions: "," },
    { excludeIds: "gw-7, gw-7" },
  ])("of %j is refused by the server, not taken for something else", (fields) => {
    expect(RolloutRequest.safeParse(toRequest({ ...plain, ...fields })).success).toBe(false);
  });
});

/** What the form says at which field. */
function faultsFor(fields: Partial<StartFields>) {
  const all = { ...plain, ...fields };
  const refusal =
    refusalOfLabels(all) ?? messageOf(() => parseBody(RolloutRequest, toRequest(all)));
  return faultsOf(refusal, startPaths);
}

function messageOf(attempt: () => unknown): string {
  try {
    attempt();
  } catch (error) {
    return (error as Error).message;
  }
  return "";
}

describe("a refusal", () => {
  it.each<[Partial<StartFields>, keyof StartFields, RegExp]>([
    [{ image: "sentinel" }, "image", /^must be \{registry\}/],
    [{ waves: "50, 20, 100" }, "waves", /^must be strictly increasing$/],
    [{ maxFailed: "a few" }, "maxFailed", /^must be a count/],
    [{ soakSeconds: "-1" }, "soakSeconds", /./],
    [{ regions: "eu, eu" }, "regions", /^must name each once$/],
    [{ canaries: "tier" }, "canaries", /^must be pairs such as tier=canary$/],
    [{ canaries: "=x" }, "canaries", /^must be a label's name/],
    [{ excludeLabels: "a b=1" }, "excludeLabels", /^a b: must be a label's name/],
    [{ onlyLabels: "tier" }, "onlyLabels", /^must be pairs such as tier=canary$/],
    [{ excludeLabels: "a=1, a=2" }, "excludeLabels", /^must name each label once$/],
    [{ excludeIds: "gw-7, gw-7" }, "excludeIds", /^must name each once$/],
    [{ maxPerRegion: "200%" }, "maxPerRegion", /^must be a count/],
    [{ maxUnavailable: "most" }, "maxUnavailable", /^must be a count/],
    [{ reason: "x".repeat(501) }, "reason", /./],
  ])("of %j is said at %s alone", (fields, name, words) => {
    const faults = faultsFor(fields);

    expect(Object.keys(faults.fields)).toEqual([name]);
    expect(faults.fields[name]).toMatch(words);
    expect(faults.rest).toBe("");
  });

  it("of names that no sentinel has is said at the fields that have them", () => {
    const lines = [
      "exclude.0.ids: no sentinel is called gw-99; there are gw-9",
      "canary_labels: no sentinel has tier=canry; there are tier=canary",
    ];

    expect(faultsOf(lines.join("\n"), startPaths)).toEqual({
      fields: {
        excludeIds: "no sentinel is called gw-99; there are gw-9",
        canaries: "no sentinel has tier=canry; there are tier=canary",
      },
      rest: "",
    });
  });

  it("of a rollout as a whole is said below the form", () => {
    const many = "with this max_per_region there are 600 waves, 500 at most: allow more per region";

    expect(faultsOf(many, startPaths)).toEqual({ fields: {}, rest: many });
  });
});

it("counts the fields of choice and order that are filled in", () => {
  expect(countFilled(plain)).toBe(0);
  expect(countFilled({ ...plain, regions: "eu", excludeIds: " ", maxPerRegion: "1" })).toBe(2);
});
