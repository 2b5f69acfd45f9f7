import { describe, expect, it } from "vitest";
import { resolve } from "#monitor/rules/verdict.ts";
import { endReasonOf } from "#monitor/transitions/end-alert.ts";

const production = {
  environment: "production",
  channel: "production",
  name: "Verify key",
} as const;

const nobody = { ...production, channel: null };

describe("an open alert ends for its channel", () => {
  it("not while the channel is the same", () => {
    expect(endReasonOf(production, { channel: "production" })).toBeNull();
    expect(endReasonOf(nobody, { channel: null })).toBeNull();
  });

  it.each([
    { addressee: production, channel: null, why: "the check pages nobody now" },
    { addressee: production, channel: "staging", why: "the check pages another channel" },
    { addressee: nobody, channel: "production", why: "the check pages a channel now" },
  ] as const)("$why", ({ addressee, channel, why }) => {
    expect(endReasonOf(addressee, { channel })).toBe(why);
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
