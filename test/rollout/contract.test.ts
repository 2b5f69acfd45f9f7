import { describe, expect, it } from "vitest";
import { FleetListRequest } from "#fleet/contract.ts";
import { HistoryRequest } from "#rollout/calls-contract.ts";
import { RolloutRequest } from "#rollout/contract.ts";

const digest = `sha256:${"a".repeat(64)}`;

describe("a page", () => {
  it.each(["r-1", "5f0e\u00e9", "gw 1"])("may begin after %j", (id) => {
    expect(HistoryRequest.safeParse({ before: id }).success).toBe(true);
    expect(FleetListRequest.safeParse({ cursor: id }).success).toBe(true);
  });

  it.each(["\u0000", "a\nb", "\ud800", "a".repeat(342)])("may not begin after %j", (id) => {
    expect(HistoryRequest.safeParse({ before: id }).success).toBe(false);
    expect(FleetListRequest.safeParse({ cursor: id }).success).toBe(false);
  });
});

describe("RolloutRequest", () => {
  it.each([
    "registry.example.com/vedette/sentinel:v2",
    "localhost:5000/sentinel:v2",
    "127.0.0.1:5055/acme/sentinel:1.2.3-rc_1",
    `ghcr.io/a/b/c:v1@${digest}`,
    "acme/sentinel:v2",
    `registry.example.com/sentinel@${digest}`,
    `localhost:5000/sentinel@${digest}`,
  ])("accepts the image %s", (image) => {
    expect(RolloutRequest.safeParse({ image }).success).toBe(true);
  });

  it.each([
    "",
    "sentinel",
    "sentinel:v2",
    "registry.example.com/sentinel",
    `registry.example.com/sentinel@${digest.toUpperCase()}`,
    `registry.example.com/sentinel@sha512:${"a".repeat(128)}`,
    `registry.example.com/sentinel@${digest}0`,
    `registry.example.com/sentinel:@${digest}`,
    `registry.example.com/${"a".repeat(450)}@${digest}`,
    "registry.example.com/Sentinel:v2",
    "registry.example.com/sentinel:",
    "registry.example.com/sentinel:v 2",
    "registry.example.com//sentinel:v2",
    "https://registry.example.com/sentinel:v2",
    `registry.example.com/${"a".repeat(600)}:v2`,
    `registry.example.com/sentinel:${"v".repeat(129)}`,
  ])("refuses the image %j", (image) => {
    expect(RolloutRequest.safeParse({ image }).success).toBe(false);
  });

  it("takes an image without the line break that a build step has printed after it", () => {
    const { image } = RolloutRequest.parse({ image: ` registry.example.com/app@${digest}\n` });

    expect(image).toBe(`registry.example.com/app@${digest}`);
  });

  it("names the right spelling of an image with a scheme", () => {
    const { error } = RolloutRequest.safeParse({ image: "https://registry.example.com/app:v2" });

    expect(error?.issues[0]?.message).toMatch(/^must be .* write registry\.example\.com\/app:v2$/);
  });

  it.each([[[100]], [[50, 100]], [[1, 5, 25, 50, 100]]])("accepts the waves %j", (list) => {
    expect(parseWaves(list)).toBe(true);
  });

  it.each([
    [[]],
    [[50]],
    [[100, 50]],
    [[50, 50, 100]],
    [[0, 100]],
    [[-1, 100]],
    [[50, 101]],
    [[1.5, 100]],
    [["50", 100]],
    [100],
    [null],
    [Array.from({ length: 101 }, (_, i) => i)],
  ])("refuses the waves %j", (list) => {
    expect(parseWaves(list)).toBe(false);
  });

  it("counts gate as one of ten gates: the rollout of drifted sentinels has to name all", () => {
    const ten = Array.from({ length: 10 }, (_, i) => `gate-${i}`);
    const parse = (gates: string[]) =>
      RolloutRequest.safeParse({
        image: "acme/sentinel:v2",
        gate: { checks: ["liveness"] },
        gates,
      }).success;

    expect([parse(ten), parse(ten.slice(1))]).toEqual([false, true]);
  });

  it("refuses a field that it does not know", () => {
    const request = { image: "acme/sentinel:v2", waves: [50, 100] };

    expect(RolloutRequest.safeParse(request).success).toBe(false);
  });
});

function parseWaves(wave_percentages: unknown): boolean {
  return RolloutRequest.safeParse({ image: "acme/sentinel:v2", wave_percentages }).success;
}
