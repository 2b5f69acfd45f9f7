import { describe, expect, it } from "vitest";
import { z } from "zod";
import { list } from "#api/schemas/list.ts";

/** An item that notes how often it is looked at. */
function countedItem() {
  let looks = 0;
  const item = z
    .number()
    .check(() => {
      looks += 1;
    })
    .positive();
  return { item, looks: () => looks };
}

const numbers = (length: number, value: number) => new Array(length).fill(value);

describe("a list", () => {
  it("of good items is taken, with what their schema makes of them", () => {
    const schema = list(z.object({ cost: z.number().default(1) }));

    expect(schema.parse([{}, { cost: 3 }])).toEqual([{ cost: 1 }, { cost: 3 }]);
  });

  it("that is too long is refused without a look at its items", () => {
    const { item, looks } = countedItem();

    const result = list(item, { max: 3 }).safeParse(numbers(1_000_000, 1));

    expect(result.error?.issues).toMatchObject([{ code: "too_big", maximum: 3 }]);
    expect(looks()).toBe(0);
  });

  it("of nonsense is refused for its first hundred faults", () => {
    const { item, looks } = countedItem();

    const result = list(item).safeParse(numbers(1_000_000, -1));

    expect(result.error?.issues).toHaveLength(100);
    expect(looks()).toBe(100);
  });

  it("names the place of each fault", () => {
    const result = list(z.object({ id: z.string() })).safeParse([{ id: "a" }, { id: 1 }]);

    expect(result.error?.issues).toMatchObject([{ path: [1, "id"], code: "invalid_type" }]);
  });

  it("that is too short, or no list, is refused", () => {
    const schema = list(z.string(), { min: 1 });

    expect(schema.safeParse([]).error?.issues).toMatchObject([{ code: "too_small" }]);
    expect(schema.safeParse({ length: 1 }).error?.issues).toMatchObject([{ code: "invalid_type" }]);
  });
});
