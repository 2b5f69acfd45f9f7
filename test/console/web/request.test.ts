import { describe, expect, it } from "vitest";
import { type StartFields, toRequest } from "#console/web/rollout/request.ts";
import { RolloutRequest } from "#rollout/contract.ts";

const image = "registry.example.com/team/app:v2";

const plain: StartFields = {
  image,
  waves: "",
  checks: [],
  cleanRuns: 3,
  timeoutSeconds: 600,
  maxFailed: "",
  soakSeconds: "",
  rollsBack: false,
  notBefore: "",
};

describe("the request of the form", () => {
  it("is the image alone when nothing else was filled in", () => {
    expect(toRequest(plain)).toEqual({ image });
  });

  it.each<[Partial<StartFields>, object]>([
    [{ waves: "10 → 100 %" }, { wave_percentages: [10, 100] }],
    [{ soakSeconds: "600" }, { soak_seconds: 600 }],
    [{ soakSeconds: "60, 10, 0, 0, 0" }, { soak_seconds: [60, 10, 0, 0, 0] }],
    [{ maxFailed: "3" }, { max_failed: { in_all: 3 } }],
    [{ maxFailed: "2 %" }, { max_failed: { in_all: "2%" } }],
    [{ notBefore: "2026-12-01T22:00" }, { not_before: new Date(2026, 11, 1, 22).toISOString() }],
    [{ rollsBack: true }, { on_failure: "rollback" }],
  ])("of %j is %j", (fields, wanted) => {
    const request = toRequest({ ...plain, ...fields });

    expect(request).toEqual({ image, ...wanted });
    expect(RolloutRequest.safeParse(request).success).toBe(true);
  });

  it.each<Partial<StartFields>>([
    { waves: "ten, 100" },
    { soakSeconds: "an hour" },
    { maxFailed: "a few" },
  ])("of %j is refused by the server, not taken for something else", (fields) => {
    expect(RolloutRequest.safeParse(toRequest({ ...plain, ...fields })).success).toBe(false);
  });
});
