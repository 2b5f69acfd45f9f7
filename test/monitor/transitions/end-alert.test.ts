import { expect, it } from "vitest";
import { resolve } from "#monitor/rules/verdict.ts";

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
