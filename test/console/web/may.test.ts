/** What the page offers to whom, and what it says of it. */
import { describe, expect, it } from "vitest";
import { isAllowed, isOperatorOf, limitWords, type Wanted } from "#console/web/may.ts";
import * as kernel from "#kernel/roles.ts";

const wanted: readonly Wanted[] = ["operate", "approve", "configure"];

describe("what an operator may do", () => {
  it.each(kernel.roles)("with the role %s is what the server would allow", (role) => {
    const held = { roles: [role] };

    expect(wanted.map((one) => isAllowed(held, one))).toEqual(
      wanted.map((one) => kernel.isAllowed(held, one)),
    );
  });
});

it("offers changes of every fleet that the session does not name as foreign", () => {
  expect(isOperatorOf({ foreign_fleets: ["production"] }, "production")).toBe(false);
  expect(isOperatorOf({ foreign_fleets: ["production"] }, "staging")).toBe(true);
});

it("offers changes of what holds for every fleet only to whoever operates all of them", () => {
  expect(isOperatorOf({ foreign_fleets: ["production"] }, undefined)).toBe(false);
  expect(isOperatorOf({ foreign_fleets: [] }, undefined)).toBe(true);
});

it.each<[readonly kernel.Role[], string | undefined]>([
  [kernel.roles, undefined],
  [["operate", "approve", "configure"], undefined],
  [["operate", "approve"], "may read, operate, approve"],
  [["read"], "may read"],
  [["approve"], "may read, approve"],
  [["read", "operate"], "may read, operate"],
])("the roles %j are shown as: %s", (roles, words) => {
  expect(limitWords({ roles: [...roles] })).toBe(words);
});
