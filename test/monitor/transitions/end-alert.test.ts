import { describe, expect, it } from "vitest";
import { resolve } from "#monitor/rules/verdict.ts";
import { whyOver } from "#monitor/transitions/end-alert.ts";

const production = {
  environment: "production",
  channel: "production",
  name: "Verify key",
} as const;

const nobody = { ...production, channel: null };

describe("why an open alert is over", () => {
  it("it is not while the check pages as it did", () => {
    expect(whyOver(production, { channel: "production" })).toBeNull();
    expect(whyOver(nobody, { channel: null })).toBeNull();
  });

  it.each([
    { told: production, channel: null, why: "the check pages nobody now" },
    { told: production, channel: "staging", why: "the check pages another channel" },
    { told: nobody, channel: "production", why: "the check pages a channel now" },
  ] as const)("$why", ({ told, channel, why }) => {
    expect(whyOver(told, { channel })).toBe(why);
  });
});

it("an alert that ends without a recovery says why, and what had failed", () => {
  const alert = {
    episode: 3,
    openedAtMs: 1_000,
    reason: "local: connection refused",
    locations: ["local"],
    acknowledged: null,
    rollout: null,
  };
  const ending = { checkId: "verify-key", atMs: 9_000, missedPings: null };

  const { state, transition } = resolve(
    { episodes: 3, alert },
    { ...ending, endedBecause: "the check was removed" },
  );

  expect(state).toEqual({ episodes: 3, alert: null });
  expect(transition).toMatchObject({
    eventId: "verify-key:3:resolved",
    reason: "local: connection refused",
    endedBecause: "the check was removed",
  });
});
