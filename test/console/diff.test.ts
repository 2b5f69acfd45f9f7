import fc from "fast-check";
import { expect, it } from "vitest";
import { applyChanges, findChanges } from "#console/diff.ts";

/** As it arrives: JSON has no negative zero. */
const json = fc.jsonValue().map((value) => JSON.parse(JSON.stringify(value)));

it("the answer before and its changes make the new answer, whatever both are", () => {
  fc.assert(
    fc.property(json, json, (before, after) => {
      const sent = JSON.parse(JSON.stringify(findChanges(before, after)));

      expect(applyChanges(before, sent)).toEqual(after);
    }),
  );
});

it("the changes name only the fields that differ", () => {
  const row = { id: "a", last_at: "10:00", locations: [{ name: "fra", took: 3 }], alert: null };
  const before = { rows: [row, { ...row, id: "b" }, { ...row, id: "c" }] };
  const later = { ...row, last_at: "10:01", locations: [{ name: "fra", took: 4 }] };
  const after = { rows: [later, { ...row, id: "b" }] };

  expect(findChanges(before, after)).toEqual({
    rows: { 0: { last_at: ["10:01"], locations: { 0: { took: [4] } } }, 2: null },
  });
});

it("an equal answer has no changes, and leaves the one before as it is", () => {
  const before = { rows: [{ id: "a" }] };

  expect(findChanges(before, structuredClone(before))).toEqual({});
  expect(applyChanges(before, { rows: { 0: { id: ["b"] } } })).toEqual({ rows: [{ id: "b" }] });
  expect(before).toEqual({ rows: [{ id: "a" }] });
});
