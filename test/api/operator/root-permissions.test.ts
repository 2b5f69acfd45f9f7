import { describe, expect, it } from "vitest";
import type { Requirement } from "#api/access/grants.ts";
import { requireKnownPermissions } from "#api/operator/root-keys.ts";
import { servedProcedures } from "../../support/api/served-procedures.ts";

describe("the permissions of a root key", () => {
  it.each([
    "*",
    "api.*.create_key",
    "api.api_AbC123.verify_key",
    "ratelimit.rlns_1.limit",
    "rbac.*.add_role_to_key",
    "unkey:v1:ws_1:keyspaces/ks_1/keys/*#verify_key",
    "unkey:v1:ws_1:**#*",
  ])("can be %s", (permission) => {
    expect(() => requireKnownPermissions([permission])).not.toThrow();
  });

  it.each([
    ["api.*.creat_key", "create_key"],
    ["API.*.create_key", "of api.*"],
    ["api.create_key", "of api.*"],
    ["api.*.create_key.more", "of api.*"],
    ["apis.*.create_key", "types are api, identity, ratelimit, rbac"],
    ["constructor.*.name", "types are"],
    ["", "types are"],
    ["unkey:v1:ws_1", "types are"],
  ])("cannot be %j: it is told what there is", (permission, hint) => {
    expect(() => requireKnownPermissions(["*", permission])).toThrow(hint);
  });

  it("are all that a procedure asks for before it looks anything up", () => {
    const input = { apiId: "api_1", permissions: ["a.b"] };
    const asked = servedProcedures.flatMap(([, { permission }]) =>
      permission === undefined ? [] : namesOf(permission(input)),
    );

    expect(asked.length).toBeGreaterThan(10);
    expect(() => requireKnownPermissions(asked)).not.toThrow();
  });
});

function namesOf(requirement: Requirement): string[] {
  if (typeof requirement === "string") return [requirement];
  return ("anyOf" in requirement ? requirement.anyOf : requirement.allOf).flatMap(namesOf);
}
