import { expect, it, vi } from "vitest";
import { createGroups, createJointWrites, distinctPrefix } from "#kernel/groups.ts";

it("sends items together that arrive at once, and returns each its own result", async () => {
  const asked: number[][] = [];
  const ask = createGroups(async (items: readonly number[]) => {
    asked.push([...items]);
    return items.map((item) => item * 2);
  });

  const answers = await Promise.all([1, 2, 3].map(ask));

  expect(asked).toEqual([[1, 2, 3]]);
  expect(answers).toEqual([2, 4, 6]);
});

it("sends a single item at once, and together those that follow within the pace", async () => {
  const asked: { items: number[]; atMs: number }[] = [];
  const ask = createGroups(
    async (items: readonly number[]) => {
      asked.push({ items: [...items], atMs: performance.now() });
      return items;
    },
    { paceMs: 100 },
  );

  await ask(1);
  const second = ask(2);
  await new Promise((resolve) => setImmediate(resolve));
  await Promise.all([second, ask(3)]);

  const [first, next] = asked;
  expect(asked.map(({ items }) => items)).toEqual([[1], [2, 3]]);
  expect((next?.atMs ?? 0) - (first?.atMs ?? 0)).toBeGreaterThanOrEqual(80);
});

it("sends items that arrive during a request as the next one", async () => {
  const asked: number[][] = [];
  const gate = Promise.withResolvers<void>();
  const ask = createGroups(async (items: readonly number[]) => {
    asked.push([...items]);
    await gate.promise;
    return items;
  });

  const first = ask(1);
  await expect.poll(() => asked.length).toBe(1);
  const others = [ask(2), ask(3)];
  gate.resolve();
  await Promise.all([first, ...others]);

  expect(asked).toEqual([[1], [2, 3]]);
});

it("rejects all items of a group that failed, and continues with the next", async () => {
  let calls = 0;
  const ask = createGroups(async (items: readonly number[]) => {
    calls += 1;
    if (calls === 1) throw new Error("the database is away");
    return items;
  });

  const outcomes = await Promise.allSettled([ask(1), ask(2)]);

  expect(outcomes.map(({ status }) => status)).toEqual(["rejected", "rejected"]);
  expect(await ask(3)).toBe(3);
});

it("sends at most a thousand items at once", async () => {
  const sizes: number[] = [];
  const ask = createGroups(async (items: readonly number[]) => {
    sizes.push(items.length);
    return items;
  });

  await Promise.all(Array.from({ length: 2_500 }, (_, i) => ask(i)));

  expect(sizes).toEqual([1_000, 1_000, 500]);
});

const refusal = (code: string) => Object.assign(new Error("refused"), { code });

it("writes each item by itself when the data of one is invalid, and only that one fails", async () => {
  const written: string[] = [];
  const write = createJointWrites(async (items: readonly string[]) => {
    if (items.includes("bad")) throw refusal("22021");
    written.push(...items);
  });

  const outcomes = await Promise.allSettled(["a", "bad", "b"].map(write));

  expect(outcomes.map(({ status }) => status)).toEqual(["fulfilled", "rejected", "fulfilled"]);
  expect(written).toEqual(["a", "b"]);
});

it("tries no item by itself while the database is down", async () => {
  let tries = 0;
  const write = createJointWrites(async (_items: readonly string[]) => {
    tries += 1;
    throw refusal("57P01");
  });

  const outcomes = await Promise.allSettled(["a", "b"].map(write));

  expect(outcomes.map(({ status }) => status)).toEqual(["rejected", "rejected"]);
  expect(tries).toBe(1);
});

it("rejects all waiting items when a request fails after a long time", async () => {
  const asked: number[][] = [];
  const gate = Promise.withResolvers<never>();
  const ask = createGroups(
    (items: readonly number[]) => {
      asked.push([...items]);
      return gate.promise;
    },
    { unresponsiveAfterMs: -1 },
  );
  const first = ask(1);
  await vi.waitFor(() => expect(asked).toEqual([[1]]));
  const later = [ask(2), ask(3)];

  gate.reject(new Error("no answer"));
  const ends = await Promise.allSettled([first, ...later]);

  expect(ends.map(({ status }) => status)).toEqual(["rejected", "rejected", "rejected"]);
  expect(asked).toEqual([[1]]);
});

it("never sends two items with the same id together", async () => {
  const asked: string[][] = [];
  const ask = createGroups(
    async (items: readonly { id: string; value: string }[]) => {
      asked.push(items.map(({ value }) => value));
      return items;
    },
    { idOf: ({ id }) => id },
  );

  await Promise.all(["a1", "b1", "a2", "a3"].map((value) => ask({ id: value.charAt(0), value })));

  expect(asked).toEqual([["a1", "b1"], ["a2"], ["a3"]]);
});

it.each([
  [["a", "b", "c"], 3],
  [["a", "b", "a"], 2],
  [[], 0],
])("the distinct prefix of %j has %i ids", (ids, length) => {
  expect(distinctPrefix(ids)).toBe(length);
});
