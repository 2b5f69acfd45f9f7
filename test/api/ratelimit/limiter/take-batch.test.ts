import { expect, it } from "vitest";
import type { LimitRequest } from "#api/limiter.ts";
import { createBatches, type TakeBatch } from "#api/ratelimit/limiter/redis-counters.ts";

const durationMs = 60_000;

const request = (key: string, over: Partial<LimitRequest> = {}): LimitRequest => ({
  key,
  limit: 10,
  durationMs,
  cost: 1,
  ...over,
});

/** The part of a counter's name that the caller gave. */
const nameOf = (key: string) => key.split(`:${durationMs}:`)[1] ?? "";

/** What the script would answer for a counter: the number in its name is what others have used. */
const answerTo = (key: string) => `1 ${/\d+$/.exec(key)?.[0]} ${/\d+$/.exec(key)?.[0]} 7 5 3`;

/** Batches that a script answers; one with a counter of "ws_away" fails. */
function setUp() {
  const sent: TakeBatch[] = [];
  const packets: number[] = [];
  const take = createBatches({
    send: async (batch) => {
      sent.push(batch);
      if (batch.keys.some((key) => key.includes("ws_away"))) throw new Error("away");
      return batch.keys.map(answerTo);
    },
    inOnePacket: (write) => {
      const before = sent.length;
      write();
      packets.push(sent.length - before);
    },
  });
  const takeOf = (...keys: string[]) =>
    take(
      keys.map((key) => request(key)),
      keys.map(() => undefined),
    );
  const sentNames = () => sent.map(({ keys }) => keys.map(nameOf));
  return { take, takeOf, sent, sentNames, packets };
}

it("the batching sends the calls of a turn together, a batch for each workspace, in one packet", async () => {
  const { takeOf, sentNames, packets } = setUp();

  const calls = [takeOf("ws_1/a1"), takeOf("ws_2/a1"), takeOf("ws_1/a2"), takeOf("ws_1/a1")];
  const sentAtOnce = sentNames();
  await Promise.all(calls);

  expect(sentAtOnce).toEqual([]);
  expect(sentNames()).toEqual([["ws_1/a1", "ws_1/a2", "ws_1/a1"], ["ws_2/a1"]]);
  expect(packets).toEqual([2]);
});

it("the batching sends what comes after a turn in another batch", async () => {
  const { takeOf, sentNames } = setUp();

  await takeOf("ws_1/a1");
  await takeOf("ws_1/a2");

  expect(sentNames()).toEqual([["ws_1/a1"], ["ws_1/a2"]]);
});

it("the batching gives each call the answers to its own limits", async () => {
  const { takeOf } = setUp();

  const all = await Promise.all([
    takeOf("ws_1/a1"),
    takeOf("ws_1/a2", "ws_1/a3"),
    takeOf("ws_2/a4"),
    takeOf("ws_1/a5"),
  ]);

  const used = all.map((counted) => counted.map(({ usage }) => usage.used));
  expect(used).toEqual([[1], [2, 3], [4], [5]]);
  expect(all[3]?.[0]).toEqual({
    usage: { passed: true, used: 5, usedByOthers: 5, endsMs: 8 * durationMs },
    cell: { sequence: 7, current: 5, previous: 3 },
  });
});

it("the script gets which limits are of one call, unless each has one", async () => {
  const { takeOf, sent } = setUp();

  await Promise.all([takeOf("ws_1/a1"), takeOf("ws_1/a2")]);
  await Promise.all([takeOf("ws_1/a1", "ws_1/a2"), takeOf("ws_1/a3")]);

  expect(sent.map((batch) => batch.values("", 5).slice(0, 3))).toEqual([
    ["", "", "5"],
    ["", "2 1", "5"],
  ]);
});

it("the script gets each limit, and what this process knows of it", async () => {
  const { take, sent } = setUp();

  const known = { sequence: 6, current: 4, previous: 2 };
  await take([request("ws_1/a1", { limit: 9, cost: 3 }), request("ws_1/a2")], [known, undefined]);

  expect(sent[0]?.values("1700", 5).slice(3)).toEqual([
    ...["9", "60000", "3", "6 4 2"],
    ...["10", "60000", "1", ""],
  ]);
});

it("the batching does not let a batch grow beyond a hundred limits and one call", async () => {
  const { takeOf, sentNames } = setUp();
  const many = Array.from({ length: 100 }, (_, n) => `ws_1/m${n}`);

  const calls = Array.from({ length: 150 }, (_, n) => takeOf(`ws_1/a${n}`));
  const sentAtOnce = sentNames().map(({ length }) => length);
  calls.push(takeOf(...many), takeOf("ws_1/b1"));
  const counted = await Promise.all(calls);

  expect(sentAtOnce).toEqual([100]);
  expect(sentNames().map(({ length }) => length)).toEqual([100, 150, 1]);
  expect(counted.slice(0, 150).map(([one]) => one?.usage.used)).toEqual([...Array(150).keys()]);
});

it("only the calls of a failed batch fail", async () => {
  const { takeOf } = setUp();

  const calls = [takeOf("ws_away/a1"), takeOf("ws_1/a2"), takeOf("ws_away/a3")];
  const ends = await Promise.allSettled(calls);

  expect(ends.map(({ status }) => status)).toEqual(["rejected", "fulfilled", "rejected"]);
});

it("the counters of a batch have names in one slot of a cluster", async () => {
  const { takeOf, sent } = setUp();

  await Promise.all([takeOf("ws_1/a1", "ws_1/b/{c}2"), takeOf("workspace:ws_1")]);

  expect(sent.map(({ keys }) => keys)).toEqual([
    ["vedette:limit:{ws_1}:60000:ws_1/a1", "vedette:limit:{ws_1}:60000:ws_1/b/{c}2"],
    ["vedette:limit:{workspace:ws_1}:60000:workspace:ws_1"],
  ]);
});

/** Batches that wait for their answers until the test ends them, by workspace. */
function setUpHeld() {
  const held: { owner: string; answer: PromiseWithResolvers<string[]>; keys: string[] }[] = [];
  const take = createBatches({
    send: ({ keys }) => {
      const answer = Promise.withResolvers<string[]>();
      held.push({ owner: /\{(.*?)\}/.exec(keys[0] ?? "")?.[1] ?? "", answer, keys });
      return answer.promise;
    },
    inOnePacket: (write) => write(),
  });
  const takeMany = (owner: string, calls: number) =>
    Array.from({ length: calls }, (_, call) => {
      const requests = Array.from({ length: 100 }, (_, n) => request(`${owner}/${call}/${n}`));
      return take(
        requests,
        requests.map(() => undefined),
      );
    });
  const underWay = (owner: string) => held.filter((one) => one.owner === owner);
  return { takeMany, underWay };
}

const nextTurn = () => new Promise((resolve) => setImmediate(resolve));

it("a workspace has few batches in flight, and another's are sent at once", async () => {
  const { takeMany, underWay } = setUpHeld();

  const flood = takeMany("ws_flood", 50);
  const other = takeMany("ws_other", 1);
  await nextTurn();
  const first = underWay("ws_flood").length;
  underWay("ws_other")[0]?.answer.resolve(Array(100).fill("1 0 0 7 1 0"));
  await Promise.all(other);
  for (let done = 0; done < flood.length; done += 1) {
    const { answer, keys } = underWay("ws_flood")[done] as ReturnType<typeof underWay>[number];
    answer.resolve(keys.map(answerTo));
    await flood[done];
    await nextTurn();
  }

  expect(first).toBe(4);
  expect(underWay("ws_flood")).toHaveLength(50);
});

it("pending calls fail at once when those in flight fail", async () => {
  const { takeMany, underWay } = setUpHeld();

  const flood = Promise.allSettled(takeMany("ws_flood", 50));
  await nextTurn();
  for (const { answer } of underWay("ws_flood")) answer.reject(new Error("away"));
  const ends = await flood;

  expect(ends.filter(({ status }) => status === "rejected")).toHaveLength(50);
  expect(underWay("ws_flood")).toHaveLength(4);
});

it("a counter of a long identifier has the name of its hash, so that a workspace fills no more memory", async () => {
  const { takeOf, sent } = setUp();

  const long = "\u{1f600}".repeat(250);
  await Promise.allSettled([takeOf(`ws_1/${long}1`, `ws_1/${long}2`)]);

  const keys = sent.flatMap((batch) => batch.keys);
  expect(new Set(keys).size).toBe(2);
  expect(Math.max(...keys.map((key) => Buffer.byteLength(key)))).toBeLessThan(150);
});
