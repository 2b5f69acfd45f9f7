import { describe, expect, it } from "vitest";
import { refuseList, requireCount } from "#fleet/list-store.ts";
import { distinct } from "#fleet/listing.ts";

const listed = (id: string, image: string) => ({ id, region: "eu", image, healthy: true });

describe("distinct", () => {
  it("keeps the later entry of a sentinel that is on two pages", () => {
    const pages = [listed("a", "r/i:v1"), listed("b", "r/i:v1"), listed("a", "r/i:v2")];

    expect(distinct(pages)).toEqual([listed("a", "r/i:v2"), listed("b", "r/i:v1")]);
  });
});

describe("refuseList", () => {
  const refusal = (known: number, missing: number, limitPercent: number) => () =>
    refuseList({ fleet: "singleton", known, missing, listed: known - missing }, limitPercent);

  it.each([
    [0, 0, 0],
    [12, 0, 0],
    [12, 5, 49],
    [3, 1, 49],
    [12, 12, 100],
  ])(
    "takes a list that lacks %3$j%% at most: of %j known %j are missing",
    (known, missing, limit) => {
      expect(refusal(known, missing, limit)).not.toThrow();
    },
  );

  it.each([
    [12, 12, 49],
    [12, 6, 49],
    [1, 1, 99],
    [12, 1, 0],
  ])("refuses one that lacks more: of %j known %j are missing", (known, missing, limit) => {
    expect(refusal(known, missing, limit)).toThrow("it was not accepted");
  });

  it("names the command that takes the list all the same", () => {
    expect(refusal(12, 9, 49)).toThrow("vedette sentinels confirm 3");
  });
});

it("a confirmed number that is not the list's any more is refused", () => {
  expect(() => requireCount(7, 5)).toThrow("the fleet lists 7 sentinels now, not 5");
});
