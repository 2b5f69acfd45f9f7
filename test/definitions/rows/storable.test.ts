import { expect, it } from "vitest";
import { findUnstorable } from "#definitions/rules/lint.ts";

function nested(depth: number): object {
  return depth === 0 ? {} : { a: nested(depth - 1) };
}

it.each([
  ["a\0b", []],
  [{ body: { list: ["well", "\ud800"] } }, ["body", "list", 1]],
  [{ body: { "a\0": 1 } }, ["body"]],
])("finds what cannot be stored (%#)", (value, field) => {
  expect(findUnstorable(value).map((found) => found.field)).toEqual([field]);
});

it("the rule finds nothing in text of any language", () => {
  expect(findUnstorable({ text: "Zürich 🚀\n\t", __proto__: null })).toEqual([]);
});

it("the rule accepts some nesting, and no more", () => {
  expect([49, 50].map((depth) => findUnstorable(nested(depth)).length)).toEqual([0, 0]);
  expect(findUnstorable(nested(2_000))).toHaveLength(1);
});
