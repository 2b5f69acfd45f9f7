import { describe, expect, it } from "vitest";
import {
  isRefined,
  pathOfSentinel,
  placeOf,
  refine,
  searchOf,
  sentinelOf,
} from "#console/web/sentinels/search.ts";

const of = (query: string) => searchOf(new URLSearchParams(query));

describe("the search of an address", () => {
  it("has what is refined, and nothing of the rest", () => {
    expect(of("fleet=lab&region=eu&image=app%3Av2&search=tier%3Dcanary&page=3")).toEqual({
      ...{ region: "eu", image: "app:v2", search: "tier=canary", page: 3 },
    });
  });

  it.each(["", "page=", "page=0", "page=-1", "page=x", "page=1.5", "page=999999999"])(
    "begins at the first page with %j",
    (query) => {
      expect(of(query)).toEqual({ page: 1 });
    },
  );

  it("is not refined by its page alone", () => {
    expect(isRefined(of("page=2"))).toBe(false);
    expect(isRefined(of("health=unknown"))).toBe(true);
  });

  it("begins at the first page when a filter changes, and loses one without a value", () => {
    expect(refine("region", "eu")).toEqual({ region: "eu", page: undefined });
    expect(refine("region", "")).toEqual({ region: undefined, page: undefined });
  });
});

describe("the address of a sentinel", () => {
  it.each(["gw-1", "lab:ns/set/member-0", "50%", "a?b#c", "ü &"])("leads back to %j", (id) => {
    const path = pathOfSentinel(id);

    expect(sentinelOf(path)).toBe(id);
    expect(new URL(`http://x${path}`).pathname).toBe(path);
  });

  it("is read also when a proxy has decoded it, or when it is no address of ours", () => {
    expect(sentinelOf("/fleet/ns/set/0")).toBe("ns/set/0");
    expect(sentinelOf("/fleet/50%")).toBe("50%");
  });
});

describe("the place in the list", () => {
  it("counts from one, and says when there is nothing", () => {
    expect(placeOf(1, 50, 12_345)).toBe("1–50 of 12,345");
    expect(placeOf(247, 45, 12_345)).toBe("12,301–12,345 of 12,345");
    expect(placeOf(1, 0, 0)).toBe("none of 0");
  });
});
