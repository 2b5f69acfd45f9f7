import { describe, expect, it } from "vitest";
import { createGroupWriter, distinctPrefix } from "#fleet/group-writer.ts";

type Item = { id: string; value: number };

function buildWriter() {
  const groups: Item[][] = [];
  const gates: PromiseWithResolvers<void>[] = [];
  const writer = createGroupWriter(async (items: readonly Item[]) => {
    groups.push([...items]);
    const gate = Promise.withResolvers<void>();
    gates.push(gate);
    await gate.promise;
    return items.map(({ value }) => value);
  });
  return { writer, groups, gates };
}

const turn = () => new Promise((resolve) => setImmediate(resolve));

describe("createGroupWriter", () => {
  it("sends what came during a write together with the next one", async () => {
    const { writer, groups, gates } = buildWriter();
    const first = writer.write({ id: "a", value: 1 });
    const rest = ["b", "c"].map((id) => writer.write({ id, value: 1 }));

    gates[0]?.resolve();
    await first;
    await turn();
    gates[1]?.resolve();
    await Promise.all(rest);

    expect(groups.map((group) => group.map(({ id }) => id))).toEqual([["a"], ["b", "c"]]);
  });

  it("never puts two items of one id into one group", async () => {
    const { writer, groups, gates } = buildWriter();
    const all = [1, 2, 3].map((value) => writer.write({ id: "a", value }));

    for (const i of [0, 1, 2]) {
      gates[i]?.resolve();
      await all[i];
      await turn();
    }

    expect(groups.map((group) => group.map(({ value }) => value))).toEqual([[1], [2], [3]]);
  });

  it("tells everyone in a group of its failure, and goes on with the next group", async () => {
    let calls = 0;
    const writer = createGroupWriter(async (items: readonly Item[]) => {
      if (calls++ === 0) throw new Error("database is away");
      return items.map(({ value }) => value);
    });

    await expect(writer.write({ id: "a", value: 1 })).rejects.toThrow("database is away");
    await expect(writer.write({ id: "b", value: 1 })).resolves.toBe(1);
  });

  it("fails what the database can never store alone, and writes the rest of its group", async () => {
    const hold = Promise.withResolvers<void>();
    const writer = createGroupWriter(async (items: readonly Item[]) => {
      await hold.promise;
      const poison = items.find(({ value }) => value === 0);
      if (poison !== undefined) throw Object.assign(new Error("no text"), { code: "22021" });
      return items.map(({ value }) => value);
    });
    void writer.write({ id: "first", value: 1 });
    const group = [1, 0, 2].map((value, i) => writer.write({ id: `s${i}`, value }));

    hold.resolve();
    const ends = await Promise.allSettled(group);

    expect(ends.map(({ status }) => status)).toEqual(["fulfilled", "rejected", "fulfilled"]);
  });
});

describe("distinctPrefix", () => {
  it.each([
    [["a", "b", "c"], 3],
    [["a", "b", "a"], 2],
    [[], 0],
  ])("of %j is %i", (ids, length) => {
    expect(distinctPrefix(ids)).toBe(length);
  });
});
