/** Which operation is the safe one, and what a rollback without anything to restore says. */
import { describe, expect, it } from "vitest";
import { type Offer, offersOf } from "#console/web/rollout/offers.ts";
import { rollbackQuestion } from "#console/web/rollout/questions.ts";
import type { RolloutStatus } from "#rollout/contract.ts";
import { legalOperations } from "#rollout/rules/transitions.ts";
import { liveRollout } from "../../../support/rollout/live-rollout.ts";

const offersIn = (status: Partial<RolloutStatus>) =>
  offersOf(liveRollout(status, { legal: legalOperations(status.state ?? "paused") }));

const namesOf = (offers: Offer[]) => offers.map(({ operation }) => operation);

describe("of a paused rollout", () => {
  it.each(["sentinels", "budget", "gate"] as const)(
    "because of %s, going back is safe",
    (cause) => {
      const offers = offersIn({ cause, failed: 1 });

      expect(namesOf(offers)).toEqual(["RollbackAll", "Resume", "Cancel"]);
      expect(offers.map(({ tone }) => tone)).toEqual(["main", "", ""]);
    },
  );

  it.each(["operator", "version", "fleet", "run"] as const)(
    "because of %s, which says nothing about the image, going on is",
    (cause) => {
      const offers = offersIn({ cause });

      expect(namesOf(offers)).toEqual(["Resume", "RollbackAll", "Cancel"]);
      expect(offers.map(({ tone }) => tone)).toEqual(["main", "grave", ""]);
    },
  );

  it("a rollback is offered although no sentinel took the image, and says what it does", () => {
    const none = liveRollout({ cause: "sentinels", failed: 2 });

    expect(namesOf(offersOf(none))).toContain("RollbackAll");
    expect(rollbackQuestion(none)).toMatchObject({
      title: "Roll back the rollout of app:v2?",
      lines: [
        "No sentinel has the new image: nothing is restored, and the rollout ends as cancelled.",
        "Failed: 2 sentinels. They stay ordered to run the new image unless ticked.",
      ],
      verb: "Roll back",
      field: { kind: "tick" },
    });
  });
});

it("offers nothing as the safe one while it runs, and a new one once it has ended", () => {
  expect(offersIn({ state: "in_progress" }).some(({ tone }) => tone === "main")).toBe(false);
  expect(offersIn({ state: "cancelled", outcome: "rolled_back" })).toEqual([
    { operation: "Rollout", tone: "main" },
  ]);
});
