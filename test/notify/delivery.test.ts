import { describe, expect, it } from "vitest";
import { waitBeforeMs } from "#notify/chat-channel.ts";

describe("waitBeforeMs", () => {
  it("doubles from one second to five minutes", () => {
    const waits = [0, 1, 2, 8, 9, 200].map((attempt) => waitBeforeMs(attempt));

    expect(waits).toEqual([1_000, 2_000, 4_000, 256_000, 300_000, 300_000]);
  });

  it("waits as long as the service asks", () => {
    expect(waitBeforeMs(0, 30_000)).toBe(30_000);
  });

  it("waits longer each time for a service that always asks for next to nothing", () => {
    const waits = [0, 1, 2, 9].map((attempt) => waitBeforeMs(attempt, 100));

    expect(waits).toEqual([1_000, 2_000, 4_000, 300_000]);
  });

  it("asks again after an hour when the service asks for more", () => {
    expect(waitBeforeMs(0, 7 * 24 * 60 * 60_000)).toBe(60 * 60_000);
  });
});
