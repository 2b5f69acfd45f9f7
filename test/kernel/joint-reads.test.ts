import { expect, it } from "vitest";
import { createJointReads } from "#api/cache/key-record.ts";
import { waitFor } from "../support/wait-for.ts";

/** A group begins to be read in the turn after the one in which its first name was asked for. */
async function untilRead(): Promise<void> {
  for (let turn = 0; turn < 2; turn += 1) await new Promise((resolve) => setImmediate(resolve));
}

/** None of these reads counts as slow, however long the machine takes. */
const patient = { slowMs: 600_000 };

/** Reads names as their own values, but for "none"; `answer` ends the first read that has not ended. */
function heldReads(options: { slowMs?: number } = patient) {
  const asked: (readonly string[])[] = [];
  const held: (() => void)[] = [];
  const read = createJointReads(async (names) => {
    asked.push(names);
    await new Promise<void>((resolve) => held.push(resolve));
    return new Map(names.filter((name) => name !== "none").map((name) => [name, `of ${name}`]));
  }, options);
  const answer = async () => {
    held.shift()?.();
    await untilRead();
  };
  return { asked, read, answer };
}

/** Asks for each name after the read of the one before it has begun. */
async function askInTurn(read: (name: string) => Promise<unknown>, names: readonly string[]) {
  const reads: Promise<unknown>[] = [];
  for (const name of names) {
    reads.push(read(name));
    await untilRead();
  }
  return reads;
}

it("reads together what is asked for in one turn of the event loop, each name once", async () => {
  const { asked, read, answer } = heldReads();

  const first = read("a");
  await new Promise((resolve) => process.nextTick(resolve));
  const reads = [first, ...["b", "a", "none"].map((name) => read(name))];
  await untilRead();
  await answer();

  expect(asked).toEqual([["a", "b", "none"]]);
  expect(await Promise.all(reads)).toEqual(["of a", "of b", "of a", undefined]);
});

it("reads four groups at a time, and all that is asked for meanwhile as the next one", async () => {
  const { asked, read, answer } = heldReads();

  const reads = await askInTurn(read, ["a", "b", "c", "d", "e", "f"]);
  const before = [...asked];
  await answer();

  expect(before).toEqual([["a"], ["b"], ["c"], ["d"]]);
  expect(asked).toEqual([["a"], ["b"], ["c"], ["d"], ["e", "f"]]);
  expect(await reads[0]).toBe("of a");
});

it("reads a name again that is asked for after its read began", async () => {
  const { asked, read, answer } = heldReads();

  const reads = await askInTurn(read, ["a", "a"]);
  await answer();
  await answer();

  expect(asked).toEqual([["a"], ["a"]]);
  expect(await Promise.all(reads)).toEqual(["of a", "of a"]);
});

it("reads at most 20 names together", async () => {
  const { asked, read, answer } = heldReads();
  const names = Array.from({ length: 50 }, (_, index) => `name ${index}`);

  const running = await askInTurn(read, ["a", "b", "c", "d"]);
  const reads = names.map((name) => read(name));
  for (let group = 0; group < 7; group += 1) await answer();

  expect(asked.map((group) => group.length)).toEqual([1, 1, 1, 1, 20, 20, 10]);
  expect(await Promise.all(reads)).toEqual(names.map((name) => `of ${name}`));
  expect(await Promise.all(running)).toEqual(["of a", "of b", "of c", "of d"]);
});

it("lets names join the last group while a full one before it is read", async () => {
  const { asked, read, answer } = heldReads();

  void (await askInTurn(read, ["a", "b", "c", "d"]));
  for (let i = 0; i < 25; i += 1) void read(`name ${i}`);
  await answer();
  void read("one more");
  await answer();

  expect(asked.slice(4).map((group) => group.length)).toEqual([20, 6]);
});

it("goes on while reads hang", async () => {
  const { asked, read } = heldReads({ slowMs: 50 });

  void (await askInTurn(read, ["a", "b", "c", "d", "e"]));
  await waitFor(() => asked.length === 5, { withinMs: 1_000, what: "the fifth to be read" });

  expect(asked[4]).toEqual(["e"]);
});

it("fails the reads of a group that failed, and no others", async () => {
  const held = new Map<string, PromiseWithResolvers<ReadonlyMap<string, string>>>();
  const read = createJointReads((names) => {
    const reading = Promise.withResolvers<ReadonlyMap<string, string>>();
    held.set(names.join(" "), reading);
    return reading.promise;
  }, patient);

  const ended = Promise.allSettled(await askInTurn(read, ["a", "b", "c", "d", "e"]));
  held.get("a")?.reject(new Error("the database is away"));
  await untilRead();
  for (const [name, { resolve }] of held) resolve(new Map([[name, `of ${name}`]]));

  const [failed, ...others] = await ended;
  expect(failed).toMatchObject({ reason: { message: "the database is away" } });
  expect(others).toEqual(
    ["b", "c", "d", "e"].map((name) => ({ status: "fulfilled", value: `of ${name}` })),
  );
});

it("fails the reads of a group that cannot begin", async () => {
  const read = createJointReads<string>(() => {
    throw new Error("there is no database");
  });

  await expect(read("a")).rejects.toThrow("there is no database");
});
