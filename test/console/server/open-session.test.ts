import { expect, it } from "vitest";
import type { Guard } from "#console/server/guard.ts";
import { describeSession } from "#console/server/sign-in.ts";
import { sharedActor } from "#kernel/actor.ts";

const guard = { csrfOf: () => "csrf" } as unknown as Guard;
const fleets = [
  { name: "singleton" },
  { name: "staging", operators: ["alice", "bob"] },
  { name: "production", operators: ["bob"] },
];

const describe = (actor: string) =>
  describeSession(
    { id: "s-1", actor, endsAtMs: 0 },
    { caller: { roles: ["operate"] }, guard, fleets },
  );

it("names the fleets that the settings leave to other operators", () => {
  expect(describe("alice")).toMatchObject({
    fleets: ["singleton", "staging", "production"],
    foreign_fleets: ["production"],
  });
  expect(describe("bob").foreign_fleets).toEqual([]);
  expect(describe(sharedActor).foreign_fleets).toEqual([]);
});
