import { expect, it } from "vitest";
import { whatNext } from "#console/web/outdated.ts";

const older = { own: "b-1", theirs: "b-2", wasReloaded: false, isBusy: false };

it("stays while the server has the same page, or a page does not know its build", () => {
  expect(whatNext({ ...older, theirs: "b-1" })).toBe("stay");
  expect(whatNext({ ...older, own: undefined })).toBe("stay");
});

it("loads a new page by itself, but once, and not while somebody types", () => {
  expect(whatNext(older)).toBe("reload");
  expect(whatNext({ ...older, wasReloaded: true })).toBe("tell");
  expect(whatNext({ ...older, isBusy: true })).toBe("tell");
});
