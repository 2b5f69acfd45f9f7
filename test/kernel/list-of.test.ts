import { expect, it } from "vitest";
import { z } from "zod";
import { listOf } from "#kernel/setting.ts";

const Page = z.object({ items: listOf(z.object({ id: z.string() }), 1_000_000) });

it("reads what is well formed", () => {
  expect(Page.parse({ items: [{ id: "a", more: 1 }, { id: "b" }] })).toEqual({
    items: [{ id: "a" }, { id: "b" }],
  });
});

it("reports the first invalid item and no other", () => {
  const { error } = Page.safeParse({ items: [{ id: "a" }, ...Array(999_999).fill({ id: 0 })] });

  expect(error?.issues.map(({ path }) => path)).toEqual([["items", 1, "id"]]);
});

it("refuses more items than allowed, and what is not a list", () => {
  const Short = listOf(z.string(), 2);

  expect(Short.safeParse(["a", "b", "c"]).error?.issues[0]?.message).toBe("more than 2 items");
  for (const given of [null, undefined, "abc", { length: 1 }]) {
    expect(Short.safeParse(given).success).toBe(false);
  }
});
