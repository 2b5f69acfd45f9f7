import { expect, it } from "vitest";
import { allOf, anyOf, describeMissing, Grants, tuple } from "#api/access/grants.ts";

const urn = "unkey:v1:ws_1:keyspaces/ks_1/keys/key_1#read_key";

it.each([
  [["api.*.read_key"], "api.*.read_key", true],
  [["api.*.read_key"], "api.api_1.read_key", false],
  [["*"], "anything", true],
  [["*"], urn, true],
  [[urn], urn, true],
  [["unkey:v1:ws_1:keyspaces/ks_1/keys/*#read_key"], urn, true],
  [["unkey:v1:ws_1:keyspaces/*/keys/*#*"], urn, true],
  [["unkey:v1:ws_1:**#*"], urn, true],
  [["unkey:v1:ws_1:keyspaces/**#read_key"], urn, true],
  [["unkey:v1:ws_2:**#*"], urn, false],
  [["unkey:v1:ws_1:keyspaces/ks_1/keys/*#update_key"], urn, false],
  [["unkey:v1:ws_1:keyspaces/ks_1#*"], urn, false],
  [["unkey:v1:ws_1:keyspaces/ks_2/**#*"], urn, false],
  [["unkey:v1:ws_1:**#*"], "api.*.read_key", false],
])("%j allows %s: %s", (granted, permission, expected) => {
  expect(new Grants(granted).allow(permission)).toBe(expected);
});

it("a requirement asks for one of several permissions, or for all of several", () => {
  const grants = new Grants(["a", "b"]);

  expect(grants.allow(anyOf("x", "a"))).toBe(true);
  expect(grants.allow(allOf("a", "x"))).toBe(false);
  expect(grants.allow(allOf("a", anyOf("x", "b")))).toBe(true);
  expect(grants.allow(anyOf())).toBe(false);
});

it("a refusal names the missing permissions as the contract has it", () => {
  expect(describeMissing("api.*.create_api")).toBe("Missing permission: 'api.*.create_api'");
  expect(describeMissing(tuple("api", "api_1", "delete_api"))).toBe(
    "Missing one of these permissions: api.*.delete_api or api.api_1.delete_api",
  );
});
