import { describe, expect, it } from "vitest";
import { toPage } from "#api/schemas/resources.ts";

const mebibyte = 1024 * 1024;
const rows = (...bytes: number[]) => bytes.map((one, index) => ({ id: `id_${index}`, bytes: one }));
const idsOf = (page: ReturnType<typeof toPage>) => page.rows.map(({ id }) => id);

describe("toPage", () => {
  it("holds as many as were asked for, and tells where the next page begins", () => {
    const page = toPage(rows(1, 1, 1), 2);

    expect(idsOf(page)).toEqual(["id_0", "id_1"]);
    expect(page.pagination).toEqual({ hasMore: true, cursor: "id_2" });
  });

  it("holds fewer of large ones, and goes on with the first that did not fit", () => {
    const page = toPage(rows(mebibyte, 2 * mebibyte, 2 * mebibyte, 1), 100);

    expect(idsOf(page)).toEqual(["id_0", "id_1"]);
    expect(page.pagination).toEqual({ hasMore: true, cursor: "id_2" });
  });

  it("holds one that is too large alone", () => {
    const page = toPage(rows(9 * mebibyte, 1), 100);

    expect(idsOf(page)).toEqual(["id_0"]);
    expect(page.pagination).toEqual({ hasMore: true, cursor: "id_1" });
  });

  it("is the last one when nothing is left", () => {
    expect(toPage(rows(1, 1), 2).pagination).toEqual({ hasMore: false });
  });
});
