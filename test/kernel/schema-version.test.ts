import { expect, it } from "vitest";
import { compareSchema } from "#kernel/database.ts";

it("lists the migrations of a newer version, and those that have not run yet", () => {
  const compared = compareSchema({
    run: ["0001_a", "0003_c", "0009_z"],
    known: ["0001_a", "0002_b", "0003_c"],
  });

  expect(compared).toEqual({ unknown: ["0009_z"], missing: ["0002_b"] });
});
