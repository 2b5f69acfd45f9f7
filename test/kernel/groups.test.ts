import { expect, it, vi } from "vitest";
import { isOfData } from "#kernel/database-faults.ts";
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

it("sends as many as fill a group before the pace is over", async () => {
  const asked: number[][] = [];
  const ask = createGroups(
    async (items: readonly number[]) => {
      asked.push([...items]);
      return items;
    },
    { paceMs: 60_000, fullAt: 3 },
  );

  await ask(1);
  const waiting = [ask(2), ask(3)];
  await new Promise((resolve) => setImmediate(resolve));
  const before = asked.length;
  await Promise.all([...waiting, ask(4)]);

  expect(before).toBe(1);
  expect(asked).toEqual([[1], [2, 3, 4]]);
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

it("an item whose data is invalid fails alone", async () => {
  const written: string[] = [];
  const write = createJointWrites(async (items: readonly string[]) => {
    if (items.includes("bad")) throw refusal("22021");
    written.push(...items);
  });

  const outcomes = await Promise.allSettled(["a", "bad", "b"].map(write));

  expect(outcomes.map(({ status }) => status)).toEqual(["fulfilled", "rejected", "fulfilled"]);
  expect(written).toEqual(["a", "b"]);
});

it("tries no part of a group while the database is down", async () => {
  let tries = 0;
  const write = createJointWrites(async (_items: readonly string[]) => {
    tries += 1;
    throw refusal("57P01");
  });

  const outcomes = await Promise.allSettled(["a", "b"].map(write));

  expect(outcomes.map(({ status }) => status)).toEqual(["rejected", "rejected"]);
  expect(tries).toBe(1);
});

it("finds an item whose data is invalid among a thousand by few requests", async () => {
  const sizes: number[] = [];
  const written: number[] = [];
  const write = createJointWrites(async (items: readonly number[]) => {
    sizes.push(items.length);
    if (items.includes(713)) throw refusal("22021");
    written.push(...items);
  });

  const outcomes = await Promise.allSettled(Array.from({ length: 1_000 }, (_, i) => write(i)));

  const failed = outcomes.flatMap(({ status }, i) => (status === "rejected" ? [i] : []));
  expect(failed).toEqual([713]);
  expect(written).toEqual(Array.from({ length: 1_000 }, (_, i) => i).filter((i) => i !== 713));
  // The group, and two halves each time until the item is alone.
  expect(sizes.length).toBeLessThanOrEqual(1 + 2 * Math.ceil(Math.log2(1_000)));
});

it("asks for no further half once the database is away", async () => {
  const asked: (readonly string[])[] = [];
  const write = createJointWrites(async (items: readonly string[]) => {
    asked.push(items);
    if (items.length > 2) throw refusal("22021");
    if (items.includes("c")) throw refusal("57P01");
  });

  const outcomes = await Promise.allSettled(["a", "b", "c", "d", "e"].map(write));

  const failed = outcomes.map(({ status }) => status === "rejected");
  expect(failed).toEqual([false, false, true, true, true]);
  expect(asked).toEqual([["a", "b", "c", "d", "e"], ["a", "b", "c"], ["a", "b"], ["c"]]);
});

it.each(["57014", "40P01", "55P03"])("tries the other half after a %s", async (code) => {
  const written: string[] = [];
  const write = createJointWrites(async (items: readonly string[]) => {
    if (items.includes("bad")) throw refusal("22021");
    if (items.includes("locked")) throw refusal(code);
    written.push(...items);
  });

  const outcomes = await Promise.allSettled(["locked", "bad", "c"].map(write));

  expect(outcomes).toMatchObject([
    { status: "rejected", reason: { code } },
    { status: "rejected", reason: { code: "22021" } },
    { status: "fulfilled" },
  ]);
  expect(written).toEqual(["c"]);
});

it("asks for no further half when one was refused after a long time", async () => {
  const asked: (readonly string[])[] = [];
  const ask = createGroups(
    async (items: readonly string[]) => {
      asked.push(items);
      throw refusal(items.length > 1 ? "22021" : "57014");
    },
    { failsAlone: true, unresponsiveAfterMs: -1 },
  );

  const outcomes = await Promise.allSettled(["locked", "b"].map(ask));

  expect(outcomes.map(({ status }) => status)).toEqual(["rejected", "rejected"]);
  expect(asked).toEqual([["locked", "b"], ["locked"]]);
});

it("goes on with those that wait when the data of one was invalid, however long that took", async () => {
  const first = Promise.withResolvers<void>();
  const ask = createGroups(
    async (items: readonly string[]) => {
      await first.promise;
      if (items.includes("bad")) throw refusal("22021");
      return items;
    },
    { failsAlone: true, unresponsiveAfterMs: -1 },
  );
  const alone = ask("bad");
  await new Promise((resolve) => setImmediate(resolve));
  await new Promise((resolve) => setImmediate(resolve));
  const later = ask("b");

  first.resolve();
  const outcomes = await Promise.allSettled([alone, later]);

  expect(outcomes.map(({ status }) => status)).toEqual(["rejected", "fulfilled"]);
});

it("finds three items whose data is invalid among a thousand", async () => {
  const bad = [0, 499, 999];
  const write = createJointWrites(async (items: readonly number[]) => {
    if (items.some((item) => bad.includes(item))) throw refusal("22021");
  });

  const outcomes = await Promise.allSettled(Array.from({ length: 1_000 }, (_, i) => write(i)));

  expect(outcomes.flatMap(({ status }, i) => (status === "rejected" ? [i] : []))).toEqual(bad);
});

it("gives up on a group of which too many are invalid, so that the rest may be tried again", async () => {
  let requests = 0;
  const write = createJointWrites(async (_items: readonly number[]) => {
    requests += 1;
    throw refusal("22021");
  });

  const outcomes = await Promise.allSettled(Array.from({ length: 1_000 }, (_, i) => write(i)));

  const reasons = outcomes.map((outcome) => outcome.status === "rejected" && outcome.reason);
  const [refused, rest] = [true, false].map((is) => reasons.filter((one) => isOfData(one) === is));
  expect(requests).toBe(64);
  // The path down to the first item, and then one after the other.
  expect(refused?.length).toBeGreaterThan(20);
  expect(rest?.length).toBe(1_000 - (refused?.length ?? 0));
  expect(new Set(rest?.map(({ message }) => message))).toEqual(
    new Set(["not tried: too many others of its group were refused"]),
  );
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
