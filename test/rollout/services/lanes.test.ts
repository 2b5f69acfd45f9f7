import { describe, expect, it } from "vitest";
import { shareOf } from "#rollout/services/lanes.ts";

describe("shareOf", () => {
  it("splits the free slots by size", () => {
    expect(shareOf(100, [250, 250, 250, 250])).toBe(25);
  });

  it("gives a small batch no more than it has members", () => {
    expect(shareOf(100, [3])).toBe(3);
  });

  it("gives at least one slot, however small the batch is beside the others", () => {
    expect(shareOf(4, [1, 250, 250])).toBe(1);
  });

  it("never gives more than is free", () => {
    expect(shareOf(1, [250, 250])).toBe(1);
  });
});
