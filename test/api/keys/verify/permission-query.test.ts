import { describe, expect, it } from "vitest";
import { answersQuery, parsePermissionQuery } from "#api/keys/verify/permission-query.ts";

const answers = (query: string, ...permissions: string[]) =>
  answersQuery(parsePermissionQuery(query), new Set(permissions));

describe("a permission query", () => {
  it.each([
    ["documents.read", ["documents.read"], true],
    ["documents.read", ["documents.write"], false],
    ["a AND b", ["a", "b"], true],
    ["a AND b", ["a"], false],
    ["a OR b", ["b"], true],
    ["a OR b", [], false],
    ["a or b and c", ["b"], false],
    ["a or b and c", ["a"], true],
    ["(a OR b) AND c", ["a"], false],
    ["(a OR b) AND c", ["a", "c"], true],
    ["  ( (a) )  ", ["a"], true],
    ["a AND b AND c OR d", ["d"], true],
    ["api.*.read_key", ["api.*.read_key"], true],
    ["api.*.read_key", ["api.x.read_key"], false],
    ["android OR oregon", ["oregon"], true],
  ])("%s is answered by what the key holds: %j is %s", (query, permissions, expected) => {
    expect(answers(query, ...permissions)).toBe(expected);
  });

  it.each([
    ["a AND", "a permission is missing at the end at position 5"],
    ["AND a", "expected a permission, got 'AND' at position 0"],
    ["a b", "unexpected 'b' at position 2"],
    ["(a", "'(' is not closed at position 0"],
    ["a)", "unexpected ')' at position 1"],
    ["a & b", "unexpected character '&' at position 2"],
    ["   ", "a permission is missing at the end"],
    [`${"(".repeat(51)}a${")".repeat(51)}`, "too many nested parentheses at position 50"],
  ])("%s is refused and tells the place", (query, place) => {
    expect(() => parsePermissionQuery(query)).toThrow(place);
  });
});
