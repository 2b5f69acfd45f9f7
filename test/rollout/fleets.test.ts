import { describe, expect, it } from "vitest";
import { createFleets, keyOf, ofFleet, requireOperator } from "#rollout/fleets.ts";
import { aFleet } from "../support/rollout/rollout-fleets.ts";

const actor = (by: string) => ({ by, isSigned: true }) as const;

describe("the fleets of rollouts", () => {
  it("refuse another key, and name theirs", () => {
    const one = createFleets([aFleet()]);
    const two = createFleets([aFleet(), aFleet({ name: "staging" })]);

    expect(() => one.require("staging")).toThrow(
      'there is no fleet staging; the only one is "singleton"',
    );
    expect(() => two.require("qa")).toThrow("there is no fleet qa; there are staging, singleton");
    expect(two.require("staging").name).toBe("staging");
  });

  it("have one that the settings have lost as a fleet that cannot be reached", async () => {
    const lost = createFleets([aFleet()]).get("staging");

    await expect(lost.listFleet()).rejects.toThrow('no fleet "staging" in the settings');
    await expect(lost.resolveImage("r/i:v1", true)).rejects.toThrow("fleets.staging");
  });
});

it("the default fleet is named in no message between the parts of a rollout", () => {
  expect(ofFleet("singleton")).toEqual({});
  expect(ofFleet("staging")).toEqual({ fleet: "staging" });
  expect([keyOf({}), keyOf({ fleet: "staging" })]).toEqual(["singleton", "staging"]);
});

describe("a fleet that names its operators", () => {
  const fleet = { name: "production", operators: ["ada"] };

  it.each(["ada", "ingress-token"])("is changed by %s", (by) => {
    expect(() => requireOperator(actor(by), fleet)).not.toThrow();
  });

  it("is changed by whoever calls Restate itself, who is nobody in particular", () => {
    expect(() => requireOperator({ by: "ben" }, fleet)).not.toThrow();
  });

  it("is not changed by anybody else, nor by anybody if it names none", () => {
    expect(() => requireOperator(actor("ben"), fleet)).toThrow("ben is no operator of the fleet");
    expect(() => requireOperator(actor("ada"), { ...fleet, operators: [] })).toThrow("ada");
  });
});
