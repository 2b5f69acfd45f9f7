import { describe, expect, it } from "vitest";
import { hasEveryRole, isAllowed, type Role, roles } from "#kernel/roles.ts";

describe("isAllowed", () => {
  it.each<[Role, Role[]]>([
    ["read", ["read"]],
    ["operate", ["read", "operate", "notify"]],
    ["approve", ["read", "approve"]],
    ["notify", ["notify"]],
    ["configure", ["read", "configure"]],
  ])("lets whoever has %s do %j alone", (held, expected) => {
    expect(roles.filter((wanted) => isAllowed({ roles: [held] }, wanted))).toEqual(expected);
  });
});

describe("hasEveryRole", () => {
  it("is false for whoever lacks configure, or any other role by name", () => {
    const lacking = roles.map((role) => roles.filter((one) => one !== role));

    expect(lacking.map((held) => hasEveryRole({ roles: held }))).not.toContain(true);
    expect(hasEveryRole({ roles })).toBe(true);
  });
});
